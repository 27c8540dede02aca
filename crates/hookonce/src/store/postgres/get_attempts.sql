-- Gives the newest attempts of an event's tasks, oldest first.
select *
from (
  select route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
  from hookonce.attempts
  where seq = $1
  order by ended_at desc, epoch desc
  limit 1000
) newest
order by ended_at, epoch
