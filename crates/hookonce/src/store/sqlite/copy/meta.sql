-- Gives the single values.
select
  name, value
from hookonce_meta
order by name
