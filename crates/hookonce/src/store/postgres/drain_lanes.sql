-- Gives each of these lanes its next head, if it has none, and forgets that it was woken.
with gone as (
  delete from hookonce.wakes
  where lane_id = any($1::uuid[])
)
update hookonce.tasks t
set due_at = hookonce.clock()
from unnest($1::uuid[]) as woken (lane_id)
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
  )
