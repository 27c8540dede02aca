-- Writes counts as they were in the store that is copied.
insert into hookonce.minutes (
  minute, source, what, n
)
select
  timestamptz 'epoch' + r.minute * interval '1 ms', r.source, r.what, r.n
from unnest(
  $1::bigint[], $2::text[], $3::text[], $4::bigint[]
) as r (
  minute, source, what, n
)
