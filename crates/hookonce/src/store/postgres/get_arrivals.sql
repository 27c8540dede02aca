-- Gives the newest arrivals of an event after its first, oldest first.
select at, n, element
from (
  select at, arrival, n, element
  from hookonce.arrivals
  where seq = $1
  order by at desc, arrival desc
  limit 1000
) newest
order by at, arrival
