-- Gives when the oldest task of a route, priority and source that may be claimed became due.
select min(due_at)
from hookonce_tasks
where state = 'pending' and due_at is not null
  and route = :route
  and priority = :priority
  and source = :source
