-- Gives a worker due tasks of routes that are left to workers outside, under a lease.
create function hookonce.claim(worker text, routes text[], lease interval, max integer)
returns table (
  id uuid, route text, token uuid, epoch integer, attempt integer, lease_until timestamptz,
  source text, key text, kind text, lane text, content_type text, payload text, element text,
  steps jsonb
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  drawn uuid := gen_random_uuid();
  seqs bigint[];
  names text[];
begin
  perform hookonce.expect_claim(claim.worker, claim.routes, claim.max);
  perform hookonce.expect_lease(claim.lease);
  perform hookonce.reap(claim.routes);
  -- Where nobody else drains, the list would become too long to look through.
  if (select count(*) from (select 1 from hookonce.wakes limit 2048) w) = 2048 then
    perform hookonce.drain();
  end if;
  for round in 1..2 loop
    select array_agg(t.seq), array_agg(t.route)
    into seqs, names
    from hookonce.take(claim.worker, claim.routes, claim.lease, claim.max, drawn) t;
    exit when seqs is not null or not hookonce.repair(claim.routes);
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
