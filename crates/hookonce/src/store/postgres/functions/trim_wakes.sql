-- Takes wakes from the list that are of no use any more: of lanes that have a head or nothing that waits.
-- Looks at some of the list, after so many of it. It makes no head and takes no lane's lock, so that a
-- transaction that stays open afterwards holds no lane up.
--
-- Why it is right without the lock: a wake is written in the transaction of what it tells of, so that one
-- statement that sees the wake sees that too. A head seen here that ends later has its lane woken anew by
-- whoever ends it; a task that comes later wakes its lane itself. These wakes are other rows than those
-- seen here, and stay.
create function hookonce.trim_wakes(after bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
-- Planned while the tables may be empty, and kept when they are not: there is one way to each row.
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  delete from hookonce.wakes
  where ctid = any (
    array(
      select w.ctid
      from hookonce.wakes w
      where w.ctid = any (
        array(
          select k.row
          from (
            select lane_id, ctid as row from hookonce.wakes offset trim_wakes.after limit 2048
          ) k
          where
            -- Not `exists`, which could become a join that reads every head there is.
            (
              select h.seq
              from hookonce.tasks h
              where h.lane_id = k.lane_id
                and (h.state = 'claimed' or h.due_at is not null)
              limit 1
            ) is not null
            or (
              -- Between both ends of the lane: behind the last that waits, a look would go on through what is
              -- left of other lanes. Said of both columns, for the one index that has that order.
              select n.lane_id
              from hookonce.tasks n
              where n.state = 'pending' and n.due_at is null
                and (n.lane_id, n.seq) >= (k.lane_id, 0::bigint)
                and (n.lane_id, n.seq) <= (k.lane_id, 9223372036854775807)
              order by n.lane_id, n.seq
              limit 1
            ) is null
        )
      )
      -- Others may be at them, in a transaction that stays open.
      for update skip locked
    )
  );
end
$$;

comment on function hookonce.trim_wakes(bigint) is
  'Takes wakes from the list of lanes that have a head or nothing that waits; makes no head. Inner.';
