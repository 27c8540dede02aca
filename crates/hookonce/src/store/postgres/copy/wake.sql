-- Notes the lanes that have pending tasks and no head.
insert into hookonce.wakes (lane_id)
select distinct lane_id
from hookonce.tasks w
where state = 'pending' and due_at is null
  and not exists (
    select
    from hookonce.tasks h
    where h.lane_id = w.lane_id
      and h.lane_id is not null and (h.state = 'claimed' or h.due_at is not null)
  )
