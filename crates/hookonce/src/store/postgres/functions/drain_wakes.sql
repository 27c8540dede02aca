-- Gives lanes without a head their next one: those that may have lost theirs, a few at a time, in a
-- transaction of its own.
create or replace function hookonce.drain_wakes() returns void
language plpgsql
-- Planned while the tables may be empty, and kept when they are not: there is one way to each row.
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  woken uuid[];
  rows tid[];
  lanes uuid[];
begin
  -- What a crash undoes of it is still to be done, and then done.
  perform set_config('synchronous_commit', 'off', true);

  select array_agg(w.lane_id), array_agg(w.ctid)
  into woken, rows
  from (select lane_id, ctid from hookonce.wakes limit 2048) w;
  if woken is null then
    return;
  end if;

  -- Locked before the lanes are looked at: what is seen then was committed before. A lane that
  -- somebody else has locked stays woken, so that nobody waits for a worker's open transaction.
  lanes := array(
    select w.lane_id
    from (select distinct d.lane_id from unnest(woken) as d (lane_id)) w
    where pg_try_advisory_xact_lock(('x' || right(w.lane_id::text, 12))::bit(48)::bigint)
    limit 256
  );

  delete from hookonce.wakes
  where ctid = any (
    array(
      select w.row
      from unnest(woken, rows) as w (lane_id, row)
      -- Looked up in a hash, which a join would be too, had it not been forbidden above.
      where (w.lane_id in (select l.lane_id from unnest(lanes) as l (lane_id))) is true
    )
  );

  update hookonce.tasks t
  set due_at = hookonce.clock()
  from (
    select next.seq, next.route
    from unnest(lanes) as w (lane_id)
    cross join lateral (
      -- In the order of the one index that has it: no other finds the first without the others.
      select lane_id, seq, route
      from hookonce.tasks
      where state = 'pending' and due_at is null
        and (lane_id, seq) >= (w.lane_id, 0::bigint)
      order by lane_id, seq
      limit 1
    ) next
    where next.lane_id = w.lane_id
      and (
        select h.seq
        from hookonce.tasks h
        where h.lane_id = w.lane_id
          and (h.state = 'claimed' or h.due_at is not null)
        limit 1
      ) is null
  ) heads
  where t.seq = heads.seq
    and t.route = heads.route
    -- Said so that no index but the key's is thought to find it.
    and t.state is not distinct from 'pending' and t.due_at is null;
end
$$;

comment on function hookonce.drain_wakes is
  'Gives lanes that may have no head their next one; used by whoever claims.';
