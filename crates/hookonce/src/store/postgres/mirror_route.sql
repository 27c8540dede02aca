-- Keeps a route of the configuration.
insert into hookonce.routes (
  name, sources, kinds, max_attempts, retry_min, retry_max, on_dead, "order", worker
)
values (
  $1, $2, $3, $4, $5::double precision * interval '1 second',
  $6::double precision * interval '1 second', $7, $8, $9
)
