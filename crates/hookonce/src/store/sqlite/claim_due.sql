-- Gives the oldest due tasks of a route, priority and source.
select due_at, seq
from hookonce_tasks
where state = 'pending' and due_at is not null
  and route = :route
  and priority = :priority
  and source = :source
  and due_at <= :now
order by due_at, seq
limit :limit
