-- Gives all tasks, as the store has them that was copied.
select
  seq, route, uuid_send(event_id), source, uuid_send(lane_id), priority::bigint, state,
  attempt::bigint, max_attempts::bigint, run::bigint, epoch::bigint, uuid_send(token),
  (extract(epoch from due_at) * 1000)::bigint, (extract(epoch from lease_until) * 1000)::bigint,
  worker, error, (extract(epoch from claimed_at) * 1000)::bigint,
  (extract(epoch from finished_at) * 1000)::bigint, first_route,
  (extract(epoch from replayed_at) * 1000)::bigint
from hookonce.tasks
