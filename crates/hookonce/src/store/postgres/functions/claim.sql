-- Gives a worker due tasks of routes that are left to workers outside, under a lease.
create function hookonce.claim(worker text, routes text[], lease interval, max integer)
returns table (
  id uuid, route text, token uuid, epoch integer, attempt integer, lease_until timestamptz,
  source text, key text, kind text, lane text, content_type text, payload text, element text,
  steps jsonb
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- Planned while the tables may be empty, and kept when they are not: there is one way to each row.
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  drawn uuid := gen_random_uuid();
  seqs bigint[];
  names text[];
  woken bigint;
begin
  perform hookonce.expect_claim(claim.worker, claim.routes, claim.max);
  perform hookonce.expect_lease(claim.lease);
  -- No more than it may claim itself: if the transaction stays open, these tasks wait for it.
  perform hookonce.reap(claim.routes, claim.max);
  -- Where nobody drains, the list would become too long to look through. No heads are made here: if the
  -- transaction stays open, their lanes would wait for it.
  woken := (select count(*) from (select 1 from hookonce.wakes limit 65536) w);
  if woken >= 2048 then
    perform hookonce.trim_wakes(floor(random() * (woken - 2047))::bigint);
  end if;
  for round in 1..2 loop
    select array_agg(t.seq), array_agg(t.route)
    into seqs, names
    from hookonce.take(claim.worker, claim.routes, claim.lease, claim.max, drawn) t;
    exit when seqs is not null;
    -- With nothing else to do it puts in order what others may have left.
    perform hookonce.reap(claim.routes, claim.max);
    perform hookonce.repair(claim.routes);
  end loop;
  return query
  select e.id, t.route, t.token, t.epoch, t.attempt, t.lease_until, e.source, e.key, e.kind, e.lane,
    e.content_type, e.payload, e.element, coalesce(
      (
        select jsonb_object_agg(s.name, hookonce.json_of(s.result))
        from hookonce.steps s
        where s.seq = t.seq
          and s.route = t.route
          and s.run = t.run
          and s.state = 'done'
      ),
      '{}'
    )
  from unnest(seqs, names) with ordinality as n (seq, route, place)
  join hookonce.tasks t on t.seq = n.seq and t.route = n.route
  join hookonce.events e on e.seq = n.seq
  order by n.place;
end
$$;

comment on function hookonce.claim(text, text[], interval, integer) is
  'Claims up to `max` due tasks of these routes for a worker, by priority and age, at most one of a '
  'lane. Commit it by itself, so that the attempt is counted even if the worker dies. HK002: a route '
  'is not left to workers outside; HK003: the transaction is not read committed; HK004: an argument.';
