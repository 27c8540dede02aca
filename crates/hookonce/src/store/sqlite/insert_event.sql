-- Stores an event unless its id is known; writes no row for one that is.
insert into hookonce_events (
  id, source, key, kind, lane, priority, content_type, element, digest, weak_key,
  sent_at, received_at, payload
)
values (
  :id, :source, :key, :kind, :lane, :priority, :content_type, :element, :digest, :weak_key,
  :sent_at, :received_at, :payload
)
on conflict (id) do nothing
