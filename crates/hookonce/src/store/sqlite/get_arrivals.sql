-- Gives the newest arrivals of an event after its first, oldest first.
select at, n, element
from (
  select at, arrival, n, element
  from hookonce_arrivals
  where seq = :seq
  order by at desc, arrival desc
  limit 1000
)
order by at, arrival
