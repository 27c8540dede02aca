-- Gives the oldest due tasks of each route, by priority and source, and holds them for this
-- transaction, as `due_tasks` does, but of those alone that became due at some time or later: so many
-- seconds ago, or what is said of the group. So it passes over nothing that was taken long ago and is
-- still there for a transaction that is open elsewhere.
create or replace function hookonce.due_tasks_since(
  routes text[], limits bigint[], ages double precision[],
  group_routes text[], group_priorities smallint[], group_sources text[],
  group_sinces timestamptz[]
)
returns table (n bigint, priority smallint, source text, due_at timestamptz, seq bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  until constant timestamptz := hookonce.clock();
begin
  return query
  with known as (
    select route, priority, source, since
    from unnest(group_routes, group_priorities, group_sources, group_sinces)
      as g (route, priority, source, since)
  ),
  groups as (
    select r.n, r.route, r.most, p.priority::smallint, s.source,
      coalesce(
        (
          select k.since
          from known k
          where k.route = r.route
            and k.priority = p.priority
            and k.source = s.source
        ),
        until - r.age * interval '1 second'
      ) as since
    from unnest(routes, limits, ages) with ordinality as r (route, most, age, n)
    cross join generate_series(0, 2) as p (priority)
    cross join (select name as source from hookonce.sources union select source from known) s
  )
  select g.n, g.priority, g.source, d.due_at, d.seq
  from groups g
  cross join lateral (
    select t.due_at, t.seq
    from hookonce.tasks t
    where t.state = 'pending' and t.due_at is not null
      and t.route = g.route
      and t.priority = g.priority
      and t.source = g.source
      and t.due_at >= g.since
      and t.due_at <= until
    order by t.due_at, t.seq
    limit g.most
    for update skip locked
  ) d;
end
$$;

comment on function hookonce.due_tasks_since is
  'Gives due tasks that became due lately, and holds them; used by the server''s workers.';
