-- Gives the later arrivals of the events in a range, as they came.
select
  seq, at, n, mismatch, element
from hookonce_arrivals
where seq > :after and seq <= :until
order by arrival
