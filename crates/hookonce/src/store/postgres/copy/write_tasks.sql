-- Writes tasks as they were in the store that is copied.
insert into hookonce.tasks (
  seq, route, event_id, source, lane_id, priority, state, attempt, max_attempts, run, epoch, token,
  due_at, lease_until, worker, error, claimed_at, finished_at, first_route, replayed_at
)
select
  r.seq, r.route, encode(r.event_id, 'hex')::uuid, r.source, encode(r.lane_id, 'hex')::uuid,
  r.priority, r.state, r.attempt, r.max_attempts, r.run, r.epoch, encode(r.token, 'hex')::uuid,
  timestamptz 'epoch' + r.due_at * interval '1 ms',
  timestamptz 'epoch' + r.lease_until * interval '1 ms', r.worker, r.error,
  timestamptz 'epoch' + r.claimed_at * interval '1 ms',
  timestamptz 'epoch' + r.finished_at * interval '1 ms', r.first_route,
  timestamptz 'epoch' + r.replayed_at * interval '1 ms'
from unnest(
  $1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bytea[], $6::bigint[], $7::text[],
  $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[], $13::bigint[],
  $14::bigint[], $15::text[], $16::text[], $17::bigint[], $18::bigint[], $19::text[], $20::bigint[]
) as r (
  seq, route, event_id, source, lane_id, priority, state, attempt, max_attempts, run, epoch, token,
  due_at, lease_until, worker, error, claimed_at, finished_at, first_route, replayed_at
)
