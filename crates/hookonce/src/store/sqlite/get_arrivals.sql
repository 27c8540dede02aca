-- Gives the arrivals of an event after its first, oldest first.
select at, n, element
from hookonce_arrivals
where seq = :seq
order by at, arrival
limit 1000
