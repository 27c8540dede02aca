-- Gives all steps, as the store has them that was copied.
select
  seq, route, run::bigint, name, state, result
from hookonce.steps
