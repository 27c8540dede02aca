-- Writes single values as they were in the store that is copied.
insert into hookonce.meta (
  name, value
)
select
  r.name, timestamptz 'epoch' + r.value * interval '1 ms'
from unnest(
  $1::text[], $2::bigint[]
) as r (
  name, value
)
