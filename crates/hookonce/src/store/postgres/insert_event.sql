-- Stores events unless their ids are known; in order of id, so that batches don't deadlock.
insert into hookonce.events (
  seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key,
  sent_at, received_at, payload
)
select *
from unnest(
  $1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[],
  $8::text[], $9::text[], $10::bytea[], $11::boolean[], $12::timestamptz[], $13::timestamptz[],
  $14::text[]
)
order by 2
on conflict (id) do nothing
returning seq
