-- Gives the next priority and source, after the ones given, for which a route has tasks waiting.
select priority, source
from hookonce_tasks
where state = 'pending' and due_at is not null
  and route = :route
  and (priority, source) > (:priority, :source)
order by priority, source
limit 1
