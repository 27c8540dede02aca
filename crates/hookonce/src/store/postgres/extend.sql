-- Lets claims end later, while their tokens hold and their leases have not ended: gives the tasks of
-- these, and whether it was done. What somebody's open transaction has locked is not waited for.
with held as (
  select t.seq, t.route, g.lease
  from unnest($1::bigint[], $2::text[], $3::uuid[], $4::double precision[])
    as g (seq, route, token, lease)
  join hookonce.tasks t on t.seq = g.seq and t.route = g.route
  -- Said so that no index but the key's is thought to find it.
  where t.state is not distinct from 'claimed' and t.token is not distinct from g.token
    and t.lease_until > hookonce.clock()
  for update of t skip locked
),
extended as (
  update hookonce.tasks t
  set lease_until = hookonce.clock() + h.lease * interval '1 second'
  from held h
  where t.seq = h.seq
    and t.route = h.route
  returning t.seq, t.route
)
select t.seq, t.route, (t.seq, t.route) in (select e.seq, e.route from extended e)
from unnest($1::bigint[], $2::text[], $3::uuid[]) as g (seq, route, token)
join hookonce.tasks t on t.seq = g.seq and t.route = g.route
where t.state is not distinct from 'claimed' and t.token is not distinct from g.token
  and t.lease_until > hookonce.clock()
