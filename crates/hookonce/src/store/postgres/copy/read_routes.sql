-- Gives all mirrored routes, as the store has them that was copied.
select
  name, array_to_json(sources)::text, array_to_json(kinds)::text, max_attempts::bigint,
  (extract(epoch from retry_min) * 1000)::bigint, (extract(epoch from retry_max) * 1000)::bigint,
  on_dead, "order", worker
from hookonce.routes
