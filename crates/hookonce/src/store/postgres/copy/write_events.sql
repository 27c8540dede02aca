-- Writes events as they were in the store that is copied.
insert into hookonce.events (
  seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key, sent_at,
  received_at, payload
)
select
  r.seq, encode(r.id, 'hex')::uuid, r.source, r.key, r.kind, r.lane, r.priority, r.content_type,
  r.element, r.digest, r.weak_key <> 0, timestamptz 'epoch' + r.sent_at * interval '1 ms',
  timestamptz 'epoch' + r.received_at * interval '1 ms', r.payload
from unnest(
  $1::bigint[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
  $8::text[], $9::text[], $10::bytea[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[]
) as r (
  seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key, sent_at,
  received_at, payload
)
