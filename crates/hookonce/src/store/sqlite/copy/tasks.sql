-- Gives the tasks of the events in a range.
select
  seq, route, event_id, source, lane_id, priority, state, attempt, max_attempts, run, epoch, token,
  due_at, lease_until, worker, error, claimed_at, finished_at, first_route, replayed_at
from hookonce_tasks
where seq > :after and seq <= :until
order by seq, route
