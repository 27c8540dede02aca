-- Writes steps as they were in the store that is copied.
insert into hookonce.steps (
  seq, route, run, name, state, result
)
select
  r.seq, r.route, r.run, r.name, r.state, r.result
from unnest(
  $1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]
) as r (
  seq, route, run, name, state, result
)
