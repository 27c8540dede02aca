-- Gives an event by its id, with its payload.
select e.seq, e.id, e.source, e.key, e.kind, e.lane, e.priority, e.content_type, e.element,
  e.weak_key, e.sent_at, e.received_at, e.payload
from hookonce.events e
where e.id = $1
