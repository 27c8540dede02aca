-- Gives what was seen, of the events in a range.
select
  seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key, sent_at,
  received_at, payload
from hookonce_events
where seq > :after and seq <= :until
order by seq
