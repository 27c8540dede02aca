-- pending → claimed: raises attempt and epoch; the token proves the claim from here on.
update hookonce.tasks t
set state = 'claimed',
  token = $4,
  worker = $5,
  attempt = t.attempt + 1,
  epoch = t.epoch + 1,
  due_at = null,
  lease_until = hookonce.clock() + p.lease * interval '1 second',
  claimed_at = hookonce.clock()
from unnest($1::bigint[], $2::text[], $3::double precision[]) as p (seq, route, lease)
join hookonce.events e on e.seq = p.seq
where t.seq = p.seq
  and t.route = p.route
  -- Said so that no index but the key's is thought to find it.
  and t.state is not distinct from 'pending' and t.due_at is not null
returning t.route, t.attempt, t.max_attempts, t.run, t.epoch, t.claimed_at, t.lease_until,
  t.first_route, t.replayed_at, e.seq, e.id, e.source, e.key, e.kind, e.lane, e.priority, e.content_type, e.element,
  e.weak_key, e.sent_at, e.received_at, e.payload
