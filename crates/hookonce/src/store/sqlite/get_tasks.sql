-- Gives the tasks of an event.
select route, state, attempt, max_attempts, run, epoch, due_at, lease_until, worker, error,
  finished_at
from hookonce_tasks
where seq = :seq
order by route
