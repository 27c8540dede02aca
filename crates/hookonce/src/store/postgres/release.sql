-- claimed → pending, due after a while, while the token holds: this attempt doesn't count. An attempt
-- is written down where something was run, in place of an earlier release of it. Fails at once where
-- somebody's open transaction has locked the task.
with held as (
  select seq, route, run, epoch, attempt, worker, claimed_at
  from hookonce.tasks
  where seq = $1
    and route = $2
    and state = 'claimed' and token = $3
  for update nowait
),
earlier as (
  delete from hookonce.attempts a
  using held h
  where a.seq = h.seq
    and a.route = h.route
    and a.run = h.run
    and a.attempt = h.attempt
    and a.outcome = 'released'
    and $6::boolean
),
written as (
  insert into hookonce.attempts (
    seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
  )
  select seq, route, epoch, run, attempt, worker, claimed_at, hookonce.clock(), 'released', $5
  from held
  where worker is not null
    and $6::boolean
),
forgotten as (
  delete from hookonce.steps s
  using held h
  where s.seq = h.seq
    and s.route = h.route
    and s.run = h.run
    and s.state = 'begun'
)
update hookonce.tasks t
set state = 'pending',
  attempt = t.attempt - 1,
  due_at = hookonce.clock() + $4::double precision * interval '1 second',
  error = coalesce($5, t.error),
  token = null,
  lease_until = null,
  claimed_at = null,
  worker = null
from held h
where t.seq = h.seq
  and t.route = h.route
returning t.seq
