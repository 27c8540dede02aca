-- Counts the live tasks of each route, by their partial indexes.
select route, sum(pending)::bigint, sum(claimed)::bigint, sum(dead)::bigint
from (
  select route, count(*) as pending, 0 as claimed, 0 as dead
  from hookonce.tasks
  where state = 'pending' and due_at is not null
  group by route
  union all
  select route, count(*), 0, 0
  from hookonce.tasks
  where state = 'pending' and due_at is null
  group by route
  union all
  select route, 0, count(*), 0
  from hookonce.tasks
  where state = 'claimed'
  group by route
  union all
  select route, 0, 0, count(*)
  from hookonce.tasks
  where state = 'dead'
  group by route
) live
group by route
order by route
