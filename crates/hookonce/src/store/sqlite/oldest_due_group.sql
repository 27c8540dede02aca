-- Gives the next route, priority and source, after the ones given, that have tasks waiting.
-- Three seeks: a comparison of rows would walk all tasks of the group it starts from.
select route, priority, source
from (
  select route, priority, source
  from hookonce_tasks
  where state = 'pending' and due_at is not null
    and route = :route
    and priority = :priority
    and source > :source
  order by source
  limit 1
)
union all
select route, priority, source
from (
  select route, priority, source
  from hookonce_tasks
  where state = 'pending' and due_at is not null
    and route = :route
    and priority > :priority
  order by priority, source
  limit 1
)
union all
select route, priority, source
from (
  select route, priority, source
  from hookonce_tasks
  where state = 'pending' and due_at is not null
    and route > :route
  order by route, priority, source
  limit 1
)
limit 1
