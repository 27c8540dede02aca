-- Writes arrivals as they were in the store that is copied.
insert into hookonce.arrivals (
  seq, at, n, mismatch, element
)
select
  r.seq, timestamptz 'epoch' + r.at * interval '1 ms', r.n, r.mismatch <> 0, r.element
from unnest(
  $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]
) as r (
  seq, at, n, mismatch, element
)
