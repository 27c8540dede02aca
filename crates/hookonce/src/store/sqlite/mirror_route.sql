-- Keeps a route of the configuration.
insert into hookonce_routes (
  name, sources, kinds, max_attempts, retry_min, retry_max, on_dead, "order", worker
)
values (
  :name, :sources, :kinds, :max_attempts, :retry_min, :retry_max, :on_dead, :order, :worker
)
