-- Wakes lanes that have pending tasks and no head, should one have been missed: looks at some lanes after
-- this one, each found by one seek, and gives the last of them.
with recursive lanes as (
  select 1 as n, (
    select lane_id
    from hookonce.tasks
    where state = 'pending' and due_at is null
      and lane_id > $1
    order by lane_id
    limit 1
  ) as lane_id
  union all
  select l.n + 1, (
    select lane_id
    from hookonce.tasks
    where state = 'pending' and due_at is null
      and lane_id > l.lane_id
    order by lane_id
    limit 1
  )
  from lanes l
  where l.lane_id is not null
    and l.n < $2
),
woken as (
  insert into hookonce.wakes (lane_id)
  select l.lane_id
  from lanes l
  where l.lane_id is not null
    and (
      select h.seq
      from hookonce.tasks h
      where h.lane_id = l.lane_id
        and (h.state = 'claimed' or h.due_at is not null)
      limit 1
    ) is null
)
select lane_id
from lanes
order by n desc
limit 1
