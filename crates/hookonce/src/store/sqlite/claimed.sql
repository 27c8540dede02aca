-- Gives a claimed task with its event, and the payload where it is to be handled.
select t.attempt, t.max_attempts, t.run, t.epoch, t.claimed_at, t.lease_until, t.first_route,
  t.replayed_at,
  e.seq, e.id, e.source, e.key, e.kind, e.lane, e.priority, e.content_type, e.element,
  e.weak_key, e.sent_at, e.received_at, case when :handled then e.payload end
from hookonce_tasks t
join hookonce_events e on e.seq = t.seq
where t.seq = :seq
  and t.route = :route
