-- Gives claimed tasks with their events.
select t.route, t.attempt, t.max_attempts, t.run, t.epoch, t.claimed_at, t.lease_until,
  t.first_route, t.replayed_at, e.seq, e.id, e.source, e.key, e.kind, e.lane, e.priority, e.content_type, e.element,
  e.weak_key, e.sent_at, e.received_at, e.payload
from unnest($1::bigint[], $2::text[]) as p (seq, route)
join hookonce.tasks t on t.seq = p.seq and t.route = p.route
join hookonce.events e on e.seq = t.seq
-- Said so that no index but the key's is thought to find them.
where t.state is not distinct from 'claimed'
  and t.token is not distinct from $3
