-- dead or pending → pending, as tasks of another route, attempts from 1, with what is remembered of
-- their steps and attempts; the lanes that they leave go on. Of the tasks of one event, the first.
-- Gives each task that could be moved, and whether it was: what somebody has locked is left.
with eligible as (
  select e.id, g.seq, g.route, g.lane_id, row_number() over (partition by g.seq order by g.n) as place
  from unnest($1::bigint[], $2::text[], $3::uuid[]) with ordinality as g (seq, route, lane_id, n)
  join hookonce.tasks t on t.seq = g.seq and t.route = g.route
  join hookonce.events e on e.seq = g.seq
  where (t.state = 'dead' or t.state = 'pending')
    and not exists (select 1 from hookonce.tasks o where o.seq = t.seq and o.route = $4)
),
moved as (
  select t.seq, t.route, t.lane_id as old_lane_id, g.lane_id
  from eligible g
  join hookonce.tasks t on t.seq = g.seq and t.route = g.route
  where g.place = 1
    and (t.state = 'dead' or t.state = 'pending')
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
steps as (
  update hookonce.steps s
  set route = $4
  from moved m
  where s.seq = m.seq
    and s.route = m.route
    and s.state = 'done'
),
attempts as (
  update hookonce.attempts a
  set route = $4
  from moved m
  where a.seq = m.seq
    and a.route = m.route
),
woken as (
  insert into hookonce.wakes (lane_id)
  select lane_id from moved where lane_id is not null
  union
  select old_lane_id from moved where old_lane_id is not null
),
written as (
  update hookonce.tasks t
  set route = $4,
    first_route = coalesce(t.first_route, t.route),
    lane_id = m.lane_id,
    attempt = 0,
    max_attempts = $5,
    finished_at = null,
    state = 'pending',
    replayed_at = hookonce.clock(),
    due_at = case when m.lane_id is null then hookonce.clock() end
  from moved m
  where t.seq = m.seq
    and t.route = m.route
  returning t.seq
)
select g.id, g.route, w.seq is not null
from eligible g
left join written w on w.seq = g.seq
where g.place = 1
