-- Gives all events, as the store has them that was copied.
select
  seq, uuid_send(id), source, key, kind, lane, priority::bigint, content_type, element, digest,
  weak_key::integer::bigint, (extract(epoch from sent_at) * 1000)::bigint,
  (extract(epoch from received_at) * 1000)::bigint, payload
from hookonce.events
