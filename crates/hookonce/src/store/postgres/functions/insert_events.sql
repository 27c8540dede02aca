-- Stores events whose ids are unknown, with their tasks, and gives the digests of the others.
--
-- A function, so that its plans are kept with the connection and a batch is one round trip, without
-- named statements, which PgBouncer would not carry over.
create or replace function hookonce.insert_events(
  ids uuid[], sources text[], keys text[], kinds text[], lanes text[], priorities smallint[],
  content_types text[], elements text[], digests bytea[], weak_keys boolean[],
  sent_ats timestamptz[], received_ats timestamptz[], payloads text[],
  task_ids uuid[], task_routes text[], task_lanes uuid[], task_max_attempts integer[],
  task_errors text[], too_old text,
  out xid text, out known bytea[]
)
language plpgsql
-- Planned while the tables may be empty, and kept when they are not. Tables are looked into by
-- subqueries, which can't become joins; the joins are of the arrays alone.
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_nestloop = off
as $$
declare
  pruned_until timestamptz;
  new_ids uuid[];
begin
  -- What a batch commits is durable.
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  xid := pg_current_xact_id()::text;
  pruned_until := (select value from hookonce.meta where name = 'keys_pruned_until');
  known := (
    select array_agg((select e.digest from hookonce.events e where e.id = g.id) order by g.n)
    from unnest(ids) with ordinality as g (id, n)
  );

  with given as (
    -- The numbers are drawn in the order of the requests.
    select nextval('hookonce.seq') as seq, g.*
    from unnest(
      ids, sources, keys, kinds, lanes, priorities, content_types, elements, digests, weak_keys,
      sent_ats, received_ats, payloads, known
    ) as g (
      id, source, key, kind, lane, priority, content_type, element, digest, weak_key, sent_at,
      received_at, payload, known
    )
    where g.known is null
  ),
  stored as (
    insert into hookonce.events (
      seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key, sent_at,
      received_at, payload
    )
    select seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key,
      sent_at, received_at, payload
    from given
    -- In the same order as every other batch: so they never wait for each other in a circle.
    order by id
    on conflict (id) do nothing
    returning seq, id, source, priority, sent_at
  ),
  asked as (
    select s.seq, t.route, s.id, s.source, t.lane_id, s.priority, t.max_attempts,
      coalesce(t.error, case when s.priority < 2 and s.sent_at <= pruned_until then too_old end)
        as error
    from unnest(task_ids, task_routes, task_lanes, task_max_attempts, task_errors)
      as t (id, route, lane_id, max_attempts, error)
    join stored s on s.id = t.id
  ),
  made as (
    -- Due now, unless they have a lane, which gives them their turn, or are dead on arrival.
    insert into hookonce.tasks (
      seq, route, event_id, source, lane_id, priority, max_attempts, error, state, due_at, finished_at
    )
    select seq, route, id, source, lane_id, priority, max_attempts, error,
      case when error is null then 'pending' else 'dead' end,
      case when error is null and lane_id is null then hookonce.clock() end,
      case when error is not null then hookonce.clock() end
    from asked
  ),
  woken as (
    insert into hookonce.wakes (lane_id)
    select distinct lane_id
    from asked
    where lane_id is not null
      and error is null
  ),
  counted as (
    insert into hookonce.minutes (minute, source, what, n)
    select date_trunc('minute', hookonce.clock()), source, what, count(*)
    from (
      select source, 'new' as what from stored
      union all
      select source, 'unrouted' from stored s
      where not exists (select from asked a where a.id = s.id)
      union all
      select source, 'dead' from asked where error is not null
    ) as counts
    group by source, what
  )
  select array_agg(id) into new_ids from stored;

  -- What another transaction stored in between is seen only by a new look.
  if cardinality(array_remove(known, null)) + coalesce(cardinality(new_ids), 0) < cardinality(ids) then
    known := (
      select array_agg(
        coalesce(
          g.known,
          (select e.digest from hookonce.events e where e.id = g.id and e.id <> all (coalesce(new_ids, '{}')))
        )
        order by g.n
      )
      from unnest(ids, known) with ordinality as g (id, known, n)
    );
  end if;
end
$$;

comment on function hookonce.insert_events is
  'Stores events with their tasks unless their ids are known; used by the server.';
