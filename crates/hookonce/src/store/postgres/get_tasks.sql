-- Gives the tasks of events.
select seq, route, state, attempt, max_attempts, run, epoch, due_at, lease_until, worker, error,
  finished_at
from hookonce.tasks
where seq = any($1::bigint[])
order by seq, route
