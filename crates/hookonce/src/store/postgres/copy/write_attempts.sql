-- Writes attempts as they were in the store that is copied.
insert into hookonce.attempts (
  seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
)
select
  r.seq, r.route, r.epoch, r.run, r.attempt, r.worker,
  timestamptz 'epoch' + r.started_at * interval '1 ms',
  timestamptz 'epoch' + r.ended_at * interval '1 ms', r.outcome, r.error
from unnest(
  $1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
  $8::bigint[], $9::text[], $10::text[]
) as r (
  seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
)
