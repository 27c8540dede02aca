-- Gives what may be claimed for these routes, by priority and age: of each source and priority the oldest
-- due tasks, and of as many woken lanes the one whose turn it is.
create function hookonce.candidates(routes text[], wide integer)
returns table (seq bigint, route text, lane_id uuid)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  with recursive groups as (
    select r.route, g.priority, g.source
    from unnest(candidates.routes) as r (route)
    cross join lateral (
      select priority, source
      from hookonce.tasks
      where state = 'pending' and due_at is not null
        and route = r.route
      order by priority, source
      limit 1
    ) g
    union all
    select p.route, g.priority, g.source
    from groups p
    cross join lateral (
      select priority, source
      from hookonce.tasks
      where state = 'pending' and due_at is not null
        and route = p.route
        and (priority, source) > (p.priority, p.source)
      order by priority, source
      limit 1
    ) g
  ),
  due as (
    select t.seq, g.route, null::uuid as lane_id, g.priority, t.due_at as at
    from groups g
    cross join lateral (
      select seq, due_at
      from hookonce.tasks
      where state = 'pending' and due_at is not null
        and route = g.route
        and priority = g.priority
        and source = g.source
        and due_at <= (select hookonce.clock())
      order by due_at, seq
      limit candidates.wide
    ) t
  ),
  woken as (
    select next.seq, next.route, w.lane_id, next.priority, e.received_at as at
    from (select distinct lane_id from (select lane_id from hookonce.wakes limit 65536) k) w
    cross join lateral (
      -- Between both ends of the lane: behind the last that waits, a look would go on through what is
      -- left of other lanes. Said of both columns, for the one index that has that order.
      select lane_id, seq, route, priority
      from hookonce.tasks
      where state = 'pending' and due_at is null
        and (lane_id, seq) >= (w.lane_id, 0::bigint)
        and (lane_id, seq) <= (w.lane_id, 9223372036854775807)
      order by lane_id, seq
      limit 1
    ) next
    join hookonce.events e on e.seq = next.seq
    where next.route = any(candidates.routes)
      -- Not `exists`, which could become a join that reads every head there is.
      and (
        select h.seq
        from hookonce.tasks h
        where h.lane_id = w.lane_id
          and (h.state = 'claimed' or h.due_at is not null)
        limit 1
      ) is null
    limit candidates.wide
  )
  select c.seq, c.route, c.lane_id
  from (select * from due union all select * from woken) c
  order by c.priority, c.at, c.seq;
end
$$;

comment on function hookonce.candidates(text[], integer) is
  'What may be claimed for these routes, the first first; with a lane where it has to be made the head '
  'of it. Inner.';
