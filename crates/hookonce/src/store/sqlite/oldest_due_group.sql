-- Gives the next route, priority and source, after the ones given, that have tasks waiting.
select route, priority, source
from hookonce_tasks
where state = 'pending' and due_at is not null
  and (route, priority, source) > (:route, :priority, :source)
order by route, priority, source
limit 1
