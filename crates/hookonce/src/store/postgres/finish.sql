-- claimed → completed, pending or dead, while the tokens hold: writes down the attempts, passes the
-- lanes on and counts, all in one.
with held as (
  select t.seq, t.route, t.source, t.lane_id, t.run, t.epoch, t.attempt, t.worker, t.claimed_at,
    g.outcome, g.error, g.after, g.holds, g.reaped
  from unnest(
    $1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::double precision[],
    $7::boolean[], $8::boolean[]
  ) as g (seq, route, token, outcome, error, after, holds, reaped)
  join hookonce.tasks t on t.seq = g.seq and t.route = g.route
  where t.state = 'claimed' and t.token = g.token
  order by t.seq, t.route
  for update of t
),
written as (
  insert into hookonce.attempts (
    seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
  )
  select seq, route, epoch, run, attempt, worker, claimed_at, hookonce.clock(), outcome, error
  from held
  where worker is not null
),
forgotten as (
  delete from hookonce.steps s
  using held h
  where s.seq = h.seq
    and s.route = h.route
    and s.run = h.run
    and s.state = 'begun'
    and h.outcome = 'retry'
    and not h.reaped
),
woken as (
  insert into hookonce.wakes (lane_id)
  select distinct lane_id
  from held
  where lane_id is not null
    and outcome <> 'retry'
    and not holds
),
counted as (
  insert into hookonce.minutes (minute, source, what, n)
  select date_trunc('minute', hookonce.clock()), source, outcome, count(*)
  from held
  where outcome <> 'retry'
  group by source, outcome
)
update hookonce.tasks t
set state = case h.outcome when 'retry' then 'pending' else h.outcome end,
  due_at = case
    when h.outcome = 'retry' then hookonce.clock() + h.after * interval '1 second'
    when h.outcome = 'dead' and h.holds and t.lane_id is not null then hookonce.clock()
  end,
  error = h.error,
  finished_at = case when h.outcome <> 'retry' then hookonce.clock() end,
  token = null,
  lease_until = null,
  claimed_at = null,
  worker = null
from held h
where t.seq = h.seq
  and t.route = h.route
returning t.seq, t.route
