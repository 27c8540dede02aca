-- Gives the next priority and source, after the ones given, for which a route has tasks waiting.
-- Two seeks: a comparison of rows would walk all tasks of the group it starts from.
select priority, source
from (
  select priority, source
  from hookonce_tasks
  where state = 'pending' and due_at is not null
    and route = :route
    and priority = :priority
    and source > :source
  order by source
  limit 1
)
union all
select priority, source
from (
  select priority, source
  from hookonce_tasks
  where state = 'pending' and due_at is not null
    and route = :route
    and priority > :priority
  order by priority, source
  limit 1
)
limit 1
