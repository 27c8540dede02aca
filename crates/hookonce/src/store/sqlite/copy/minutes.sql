-- Gives the counts.
select
  minute, source, what, n
from hookonce_minutes
order by minute, source, what
