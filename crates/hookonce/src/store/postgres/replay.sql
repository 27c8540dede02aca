-- dead → pending, attempts from 1 again; pending with a later due time → due now. A task of a lane that
-- is not its head waits for the lane. Steps only begun are forgotten. Gives each task that could be moved,
-- and whether it was: what somebody has locked is left.
with movable as (
  select distinct e.id, t.seq, t.route
  from unnest($1::uuid[], $2::text[]) as g (event_id, route)
  join hookonce.events e on e.id = g.event_id
  join hookonce.tasks t on t.seq = e.seq and t.route = g.route
  where e.payload is not null
    and (t.state = 'dead' or (t.state = 'pending' and t.due_at > (select hookonce.clock())))
),
moved as (
  select t.seq, t.route, t.lane_id, t.state, t.due_at
  from movable m
  join hookonce.tasks t on t.seq = m.seq and t.route = m.route
  -- Looked at anew, for it is locked only now.
  where t.state = 'dead'
    or (t.state = 'pending' and t.due_at > (select hookonce.clock()))
  order by t.seq, t.route
  for update of t skip locked
),
forgotten as (
  delete from hookonce.steps s
  using moved m
  where s.seq = m.seq
    and s.route = m.route
    and s.state = 'begun'
),
woken as (
  insert into hookonce.wakes (lane_id)
  select distinct lane_id
  from moved
  where lane_id is not null
    and due_at is null
),
written as (
  update hookonce.tasks t
  set attempt = case t.state when 'dead' then 0 else t.attempt end,
    finished_at = null,
    state = 'pending',
    replayed_at = hookonce.clock(),
    due_at = case when m.lane_id is null or m.due_at is not null then hookonce.clock() end
  from moved m
  where t.seq = m.seq
    and t.route = m.route
  returning t.seq, t.route
)
select m.id, m.route, w.seq is not null
from movable m
left join written w on w.seq = m.seq and w.route = m.route
