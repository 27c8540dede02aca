-- Wakes lanes of these routes that have pending tasks and no head, should a wake have been lost: a few of
-- them, from anywhere on.
create function hookonce.repair(routes text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into hookonce.wakes (lane_id)
  with recursive lanes as (
    select 1 as n, gen_random_uuid() as lane_id
    union all
    select l.n + 1, coalesce(
      (
        select lane_id
        from hookonce.tasks
        where state = 'pending' and due_at is null
          and lane_id > l.lane_id
        order by lane_id
        limit 1
      ),
      (
        select lane_id
        from hookonce.tasks
        where state = 'pending' and due_at is null
        order by lane_id
        limit 1
      )
    )
    from lanes l
    where l.n < 256
      and l.lane_id is not null
  )
  select distinct l.lane_id
  from lanes l
  where l.n > 1
    -- Not `exists`, which could become a join that reads every task that waits.
    and (
      select w.seq
      from hookonce.tasks w
      where w.lane_id = l.lane_id
        and w.state = 'pending' and w.due_at is null
        and w.route = any(repair.routes)
      limit 1
    ) is not null
    and (
      select h.seq
      from hookonce.tasks h
      where h.lane_id = l.lane_id
        and (h.state = 'claimed' or h.due_at is not null)
      limit 1
    ) is null;
end
$$;

comment on function hookonce.repair(text[]) is
  'Wakes some lanes that wait and have no head. Inner.';
