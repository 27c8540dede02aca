-- Writes down the attempt that a claim stands for, just before the claim is given up.
insert into hookonce_attempts (
  seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
)
select seq, route, epoch, run, attempt, worker, claimed_at, :now, :outcome, :error
from hookonce_tasks
where seq = :seq
  and route = :route
  and state = 'claimed' and token = :token
  and worker is not null
