-- Gives the attempts of an event's tasks, oldest first.
select route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
from hookonce_attempts
where seq = :seq
order by ended_at, epoch
limit 1000
