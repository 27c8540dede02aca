-- Gives an event.
select seq, id, source, key, kind, lane, priority, content_type, element,
  weak_key, sent_at, received_at, payload
from hookonce_events
where id = :id
