-- Takes the locks of some lanes that may have no head, as far as they are free. Before they are
-- looked at: what is seen then was committed before.
select lane_id
from (
  select distinct lane_id
  from (select lane_id from hookonce.wakes limit 2048) woken
  limit 256
) w
where pg_try_advisory_xact_lock(('x' || right(lane_id::text, 12))::bit(48)::bigint)
