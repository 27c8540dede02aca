-- pending → dead, by a person; a dead task that holds its lane gives it up. The lanes go on.
with moved as (
  select t.seq, t.route, t.lane_id
  from unnest($1::uuid[], $2::text[]) as g (event_id, route)
  join hookonce.events e on e.id = g.event_id
  join hookonce.tasks t on t.seq = e.seq and t.route = g.route
  where t.state = 'pending'
    or (t.state = 'dead' and t.due_at is not null)
  order by t.seq, t.route
  for update of t
),
woken as (
  insert into hookonce.wakes (lane_id)
  select distinct lane_id
  from moved
  where lane_id is not null
)
update hookonce.tasks t
set error = case t.state when 'dead' then t.error else 'buried by a person' end,
  finished_at = case t.state when 'dead' then t.finished_at else hookonce.clock() end,
  state = 'dead',
  due_at = null
from moved m
where t.seq = m.seq
  and t.route = m.route
returning t.seq
