-- pending → claimed, up to so many tasks: each is locked when it is its turn, so that no other task and no
-- other lane is held up by whoever keeps the transaction open.
create function hookonce.take(
  worker text, routes text[], lease interval, most integer, token uuid
) returns table (seq bigint, route text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  wide integer := greatest(take.most, 256);
  taken integer := 0;
  seen integer;
  lanes uuid[] := '{}';
  task record;
begin
  loop
    seen := 0;
    for task in select * from hookonce.candidates(take.routes, wide) loop
      exit when taken = take.most;
      seen := seen + 1;
      continue when task.lane_id is not null and not hookonce.lock_lane(task.lane_id);
      -- Looked at anew, for it is locked only now.
      update hookonce.tasks t
      set state = 'claimed',
        token = take.token,
        worker = take.worker,
        attempt = t.attempt + 1,
        epoch = t.epoch + 1,
        due_at = null,
        lease_until = hookonce.clock() + take.lease,
        claimed_at = hookonce.clock()
      from (
        select n.seq, n.route
        from hookonce.tasks n
        where n.seq = task.seq
          and n.route = task.route
          and n.state = 'pending'
          and (
            n.due_at <= hookonce.clock()
            or task.lane_id is not null and n.due_at is null and not exists (
              select 1
              from hookonce.tasks h
              where h.lane_id = task.lane_id
                and h.lane_id is not null and (h.state = 'claimed' or h.due_at is not null)
            )
            and not exists (
              select 1
              from hookonce.tasks b
              where b.lane_id = task.lane_id
                and b.state = 'pending' and b.due_at is null
                and b.seq < n.seq
            )
          )
        for update skip locked
      ) next
      where t.seq = next.seq
        and t.route = next.route
      returning t.seq, t.route into take.seq, take.route;
      if found then
        taken := taken + 1;
        lanes := lanes || task.lane_id;
        return next;
      end if;
    end loop;
    -- Those passed over may be all that were looked at: others may be behind them.
    exit when taken = take.most or seen < wide;
    wide := wide * 4;
  end loop;
  -- These have a head now: whoever ends its attempt wakes them again.
  delete from hookonce.wakes
  where ctid = any (
    array(
      select w.ctid
      from hookonce.wakes w
      where w.lane_id = any(lanes)
      -- Another claim that trims the list may stay open: its wakes are left.
      for update skip locked
    )
  );
end
$$;

comment on function hookonce.take(text, text[], interval, integer, uuid) is
  'Claims tasks of these routes by priority and age; what others are at is left to them. Inner.';
