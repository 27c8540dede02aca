-- Gives a new event a task for every route that takes it: due now, unless it has a lane, which gives it
-- its turn, or is too old to be proven new.
create function hookonce.assign(event hookonce.events) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  now timestamptz := hookonce.clock();
  dead text;
begin
  if event.priority <> 2 and event.sent_at <= (
    select value
    from hookonce.meta
    where name = 'keys_pruned_until'
  ) then
    dead := 'too old to be proven new: the key of an event of this age may have been pruned; replay it '
      'if it was never handled';
  end if;
  with assigned as (
    insert into hookonce.tasks (
      seq, route, event_id, source, lane_id, priority, max_attempts, error, state, due_at, finished_at
    )
    select event.seq, r.name, event.id, event.source, l.lane_id, event.priority, r.max_attempts, dead,
      case when dead is null then 'pending' else 'dead' end,
      case when dead is null and l.lane_id is null then now end,
      case when dead is not null then now end
    from hookonce.routes r
    cross join lateral (
      select case r."order" when 'lane' then hookonce.lane_id(event.source, r.name, event.lane) end
    ) as l (lane_id)
    where (r.sources is null or event.source = any(r.sources))
      and (
        r.kinds is null
        or exists (
          select 1
          from unnest(r.kinds) as k (glob)
          where hookonce.glob_matches(k.glob, event.kind)
        )
      )
    order by r.name
    returning lane_id
  ),
  woken as (
    insert into hookonce.wakes (lane_id)
    select lane_id
    from assigned
    where lane_id is not null
      and dead is null
  )
  insert into hookonce.minutes (minute, source, what, n)
  select date_trunc('minute', now), event.source, what, n
  from (
    select 'new' as what, 1 as n
    union all
    select 'unrouted', 1 where not exists (select 1 from assigned)
    union all
    select 'dead', count(*) from assigned where dead is not null
  ) counted
  where n > 0;
end
$$;

comment on function hookonce.assign(hookonce.events) is
  'Gives a new event its tasks by the mirrored routes, wakes their lanes and counts. Inner.';
