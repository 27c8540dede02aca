-- Notes lanes that have pending tasks and no head, should one have been missed; a few at a time.
insert into hookonce.wakes (lane_id)
select lane_id
from (
  select lane_id
  from hookonce.tasks w
  where state = 'pending' and due_at is null
    and seq > $1
  order by seq
  limit $2
) w
where not exists (
  select 1
  from hookonce.tasks h
  where h.lane_id = w.lane_id
    and h.lane_id is not null and (h.state = 'claimed' or h.due_at is not null)
)
group by lane_id
