-- Writes mirrored routes as they were in the store that is copied.
insert into hookonce.routes (
  name, sources, kinds, max_attempts, retry_min, retry_max, on_dead, "order", worker
)
select
  r.name,
  case when r.sources is not null then array(select json_array_elements_text(r.sources::json)) end,
  case when r.kinds is not null then array(select json_array_elements_text(r.kinds::json)) end,
  r.max_attempts, r.retry_min * interval '1 ms', r.retry_max * interval '1 ms', r.on_dead,
  r."order", r.worker
from unnest(
  $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
  $8::text[], $9::text[]
) as r (
  name, sources, kinds, max_attempts, retry_min, retry_max, on_dead, "order", worker
)
