-- Gives the mirrored sources.
select
  name, scope
from hookonce_sources
order by name
