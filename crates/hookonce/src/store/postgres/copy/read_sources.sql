-- Gives all mirrored sources, as the store has them that was copied.
select
  name, scope
from hookonce.sources
