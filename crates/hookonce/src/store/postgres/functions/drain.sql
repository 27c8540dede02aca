-- Gives lanes that may have no head their next one, 256 at a time; a lane that another is at stays.
create function hookonce.drain() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  lanes uuid[];
begin
  select array_agg(lane_id)
  into lanes
  from (
    select lane_id
    from (select distinct lane_id from (select lane_id from hookonce.wakes limit 65536) w) woken
    where hookonce.lock_lane(lane_id)
    limit 256
  ) locked;
  delete from hookonce.wakes
  where lane_id = any(lanes);
  update hookonce.tasks t
  set due_at = hookonce.clock()
  from unnest(lanes) as woken (lane_id)
  cross join lateral (
    select seq, route
    from hookonce.tasks
    where lane_id = woken.lane_id
      and state = 'pending' and due_at is null
    order by seq
    limit 1
  ) next
  where t.seq = next.seq
    and t.route = next.route
    and t.state = 'pending' and t.due_at is null
    and not exists (
      select 1
      from hookonce.tasks h
      where h.lane_id = woken.lane_id
        and h.lane_id is not null and (h.state = 'claimed' or h.due_at is not null)
    );
end
$$;

comment on function hookonce.drain() is
  'Gives woken lanes without a head their next one, and forgets that they were woken. Inner.';
