-- Gives lanes that may have no head their next one, up to so many; a lane that somebody else is at stays
-- woken, and so does one whose next task somebody has locked. Looks through the list from a page on, near
-- its end where none is said, and gives the page of the first that it took away, or its end. What is
-- before that belongs to lanes that somebody else is at.
create or replace function hookonce.drain_wakes(most bigint, page bigint) returns bigint
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
  pages constant bigint :=
    pg_relation_size('hookonce.wakes') / current_setting('block_size')::bigint;
  beginning constant tid := format('(%s,0)', coalesce(page, greatest(pages - 64, 0)))::tid;
  woken uuid[];
  rows tid[];
  lanes uuid[];
  first bigint;
  wide bigint := 2048;
begin
  loop
    select array_agg(w.lane_id), array_agg(w.ctid)
    into woken, rows
    -- A claim that trims the list may stay open: what it takes away is neither waited for nor looked at,
    -- or every drain would look at the same.
    from (
      select lane_id, ctid
      from hookonce.wakes
      where ctid >= beginning
      limit wide
      for update skip locked
    ) w;

    -- Locked before the lanes are looked at: what is seen then was committed before. Nobody waits for
    -- a worker's open transaction.
    lanes := array(
      select w.lane_id
      from (select distinct d.lane_id from unnest(woken) as d (lane_id)) w
      where hookonce.lock_lane(w.lane_id)
      limit least(most, 256)
    );
    exit when cardinality(lanes) > 0;
    if woken is null or cardinality(woken) < wide then
      return pages;
    end if;
    -- Somebody holds all of these: others may be behind them.
    wide := wide * 8;
  end loop;

  with taken as (
    delete from hookonce.wakes
    where ctid = any (
      array(
        select w.row
        from unnest(woken, rows) as w (lane_id, row)
        -- Looked up in a hash, which a join would be too, had it not been forbidden above.
        where (w.lane_id in (select l.lane_id from unnest(lanes) as l (lane_id))) is true
      )
    )
    returning ctid as row
  )
  select (row::text::point)[0] into first from taken order by row limit 1;

  with heads as (
    select next.lane_id, next.seq, next.route
    from unnest(lanes) as w (lane_id)
    cross join lateral (
      -- Between both ends of the lane: behind the last that waits, a look would go on through what is
      -- left of other lanes. Said of both columns, for the one index that has that order.
      select lane_id, seq, route
      from hookonce.tasks
      where state = 'pending' and due_at is null
        and (lane_id, seq) >= (w.lane_id, 0::bigint)
        and (lane_id, seq) <= (w.lane_id, 9223372036854775807)
      order by lane_id, seq
      limit 1
    ) next
    where (
      select h.seq
      from hookonce.tasks h
      where h.lane_id = w.lane_id
        and (h.state = 'claimed' or h.due_at is not null)
      limit 1
    ) is null
  ),
  free as (
    select t.seq, t.route
    from heads h
    join hookonce.tasks t on t.seq = h.seq and t.route = h.route
    -- Said so that no index but the key's is thought to find it.
    where t.state is not distinct from 'pending' and t.due_at is null
    for update of t skip locked
  ),
  left_woken as (
    insert into hookonce.wakes (lane_id)
    select h.lane_id
    from heads h
    where (h.seq, h.route) not in (select f.seq, f.route from free f)
  )
  update hookonce.tasks t
  set due_at = hookonce.clock()
  from free f
  where t.seq = f.seq
    and t.route = f.route;
  return first;
end
$$;

comment on function hookonce.drain_wakes is
  'Gives lanes that may have no head their next one; used by whoever claims.';
