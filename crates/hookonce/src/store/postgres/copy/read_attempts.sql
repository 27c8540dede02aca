-- Gives all attempts, as the store has them that was copied.
select
  seq, route, epoch::bigint, run::bigint, attempt::bigint, worker,
  (extract(epoch from started_at) * 1000)::bigint, (extract(epoch from ended_at) * 1000)::bigint,
  outcome, error
from hookonce.attempts
