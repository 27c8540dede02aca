-- Writes entries of the audit as they were in the store that is copied.
insert into hookonce.audit (
  at, who, action, details
)
select
  timestamptz 'epoch' + r.at * interval '1 ms', r.who, r.action, r.details
from unnest(
  $1::bigint[], $2::text[], $3::text[], $4::text[]
) as r (
  at, who, action, details
)
