-- completed → pending, as the next run: attempts from 1, no step remembered. A total counts the tasks
-- that are completed: these no longer are. Gives each task that could be moved, and whether it was: what
-- somebody has locked is left.
with movable as (
  select distinct e.id, t.seq, t.route
  from unnest($1::uuid[], $2::text[]) as g (event_id, route)
  join hookonce.events e on e.id = g.event_id
  join hookonce.tasks t on t.seq = e.seq and t.route = g.route
  where e.payload is not null
    and t.state = 'completed'
),
moved as (
  select t.seq, t.route, t.lane_id, t.source
  from movable m
  join hookonce.tasks t on t.seq = m.seq and t.route = m.route
  -- Looked at anew, for it is locked only now.
  where t.state = 'completed'
  order by t.seq, t.route
  for update of t skip locked
),
woken as (
  insert into hookonce.wakes (lane_id)
  select distinct lane_id
  from moved
  where lane_id is not null
),
counted as (
  insert into hookonce.minutes (minute, source, what, n)
  select date_trunc('minute', hookonce.clock()), source, 'completed', -count(*)
  from moved
  group by source
),
written as (
  update hookonce.tasks t
  set run = t.run + 1,
    attempt = 0,
    finished_at = null,
    error = null,
    state = 'pending',
    replayed_at = hookonce.clock(),
    due_at = case when m.lane_id is null then hookonce.clock() end
  from moved m
  where t.seq = m.seq
    and t.route = m.route
  returning t.seq, t.route
)
select m.id, m.route, w.seq is not null
from movable m
left join written w on w.seq = m.seq and w.route = m.route
