-- Gives the oldest due tasks of each route, by priority and source, and holds them for this
-- transaction; what another node is claiming is left to it. The groups are found by one seek each, not
-- by a walk over the tasks.
with recursive groups as (
  select r.n, r.route, r.most, g.priority, g.source
  from unnest($1::text[], $2::bigint[]) with ordinality as r (route, most, n)
  cross join lateral (
    select priority, source
    from hookonce.tasks
    where state = 'pending' and due_at is not null
      and route = r.route
    order by priority, source
    limit 1
  ) g
  union all
  select p.n, p.route, p.most, g.priority, g.source
  from groups p
  cross join lateral (
    select priority, source
    from hookonce.tasks
    where state = 'pending' and due_at is not null
      and route = p.route
      and (priority, source) > (p.priority, p.source)
    order by priority, source
    limit 1
  ) g
)
select g.n, g.priority, g.source, t.due_at, t.seq
from groups g
cross join lateral (
  select due_at, seq
  from hookonce.tasks
  where state = 'pending' and due_at is not null
    and route = g.route
    and priority = g.priority
    and source = g.source
    and due_at <= (select hookonce.clock())
  order by due_at, seq
  limit g.most
  for update skip locked
) t
