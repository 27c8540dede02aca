-- Gives an event by its id, with its payload.
select seq, id, source, key, kind, lane, priority, content_type, element,
  weak_key, sent_at, received_at, payload
from hookonce_events
where id = :id
