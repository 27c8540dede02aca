-- Stores tasks of events that have none of those routes: due now, unless they have a lane, which gives
-- them their turn, or are dead on arrival.
insert into hookonce.tasks (
  seq, route, event_id, source, lane_id, priority, max_attempts, error, state, due_at, finished_at
)
select seq, route, event_id, source, lane_id, priority, max_attempts, error,
  case when error is null then 'pending' else 'dead' end,
  case when error is null and lane_id is null then hookonce.clock() end,
  case when error is not null then hookonce.clock() end
from unnest(
  $1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::smallint[], $7::integer[],
  $8::text[]
) as new (seq, route, event_id, source, lane_id, priority, max_attempts, error)
order by seq, route
on conflict (seq, route) do nothing
returning seq
