-- Gives the attempts of the tasks in a range.
select
  seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
from hookonce_attempts
where seq > :after and seq <= :until
order by seq, route, epoch
