-- Gives the events of a window of arrivals.
select distinct seq
from hookonce_arrivals
where arrival > :after
  and arrival <= :until
