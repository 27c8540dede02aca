-- Gives the mirrored routes.
select
  name, sources, kinds, max_attempts, retry_min, retry_max, on_dead, "order", worker
from hookonce_routes
order by name
