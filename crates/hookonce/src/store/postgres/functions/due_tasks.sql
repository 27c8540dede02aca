-- Gives the oldest due tasks of each route, by priority and source, and holds them for this
-- transaction; what another node is claiming is left to it. The groups are found by one seek each, not
-- by a walk over the tasks.
create or replace function hookonce.due_tasks(routes text[], limits bigint[])
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
  with recursive groups as (
    select r.n, r.route, r.most, g.priority, g.source
    from unnest(routes, limits) with ordinality as r (route, most, n)
    cross join lateral (
      select t.priority, t.source
      from hookonce.tasks t
      where t.state = 'pending' and t.due_at is not null
        and t.route = r.route
      order by t.priority, t.source
      limit 1
    ) g
    union all
    select p.n, p.route, p.most, g.priority, g.source
    from groups p
    cross join lateral (
      select t.priority, t.source
      from hookonce.tasks t
      where t.state = 'pending' and t.due_at is not null
        and t.route = p.route
        and (t.priority, t.source) > (p.priority, p.source)
      order by t.priority, t.source
      limit 1
    ) g
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
      and t.due_at <= until
    order by t.due_at, t.seq
    limit g.most
    for update skip locked
  ) d;
end
$$;

comment on function hookonce.due_tasks is
  'Gives due tasks and holds them until the transaction ends; used by the server''s workers.';
