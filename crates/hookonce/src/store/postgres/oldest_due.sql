-- Gives when the oldest task that may be claimed became due; a seek for each route, priority and
-- source.
with recursive groups as (
  (
    select route, priority, source
    from hookonce.tasks
    where state = 'pending' and due_at is not null
    order by route, priority, source
    limit 1
  )
  union all
  select g.route, g.priority, g.source
  from groups p
  cross join lateral (
    select route, priority, source
    from hookonce.tasks
    where state = 'pending' and due_at is not null
      and (route, priority, source) > (p.route, p.priority, p.source)
    order by route, priority, source
    limit 1
  ) g
)
select min(t.due_at)
from groups g
cross join lateral (
  select due_at
  from hookonce.tasks
  where state = 'pending' and due_at is not null
    and route = g.route
    and priority = g.priority
    and source = g.source
  order by due_at
  limit 1
) t
