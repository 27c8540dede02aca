-- pending → dead, by a person; a dead task that holds its lane gives it up. The lanes go on.
-- Gives each task that could be moved, and whether it was: what somebody has locked is left.
with movable as (
  select distinct e.id, t.seq, t.route
  from unnest($1::uuid[], $2::text[]) as g (event_id, route)
  join hookonce.events e on e.id = g.event_id
  join hookonce.tasks t on t.seq = e.seq and t.route = g.route
  where t.state = 'pending'
    or (t.state = 'dead' and t.due_at is not null)
),
moved as (
  select t.seq, t.route, t.lane_id
  from movable m
  join hookonce.tasks t on t.seq = m.seq and t.route = m.route
  -- Looked at anew, for it is locked only now.
  where t.state = 'pending'
    or (t.state = 'dead' and t.due_at is not null)
  order by t.seq, t.route
  for update of t skip locked
),
woken as (
  insert into hookonce.wakes (lane_id)
  select distinct lane_id
  from moved
  where lane_id is not null
),
written as (
  update hookonce.tasks t
  set error = case t.state when 'dead' then t.error else 'buried by a person' end,
    finished_at = case t.state when 'dead' then t.finished_at else hookonce.clock() end,
    state = 'dead',
    due_at = null
  from moved m
  where t.seq = m.seq
    and t.route = m.route
  returning t.seq, t.route
)
select m.id, m.route, w.seq is not null
from movable m
left join written w on w.seq = m.seq and w.route = m.route
