-- Lets claims end later, while their tokens hold and their leases have not ended.
update hookonce.tasks t
set lease_until = hookonce.clock() + g.lease * interval '1 second'
from unnest($1::bigint[], $2::text[], $3::uuid[], $4::double precision[])
  as g (seq, route, token, lease)
where t.seq = g.seq
  and t.route = g.route
  -- Said so that no index but the key's is thought to find it.
  and t.state is not distinct from 'claimed' and t.token is not distinct from g.token
  and t.lease_until > hookonce.clock()
returning t.seq, t.route
