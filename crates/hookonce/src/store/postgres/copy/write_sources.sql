-- Writes mirrored sources as they were in the store that is copied.
insert into hookonce.sources (
  name, scope
)
select
  r.name, r.scope
from unnest(
  $1::text[], $2::text[]
) as r (
  name, scope
)
