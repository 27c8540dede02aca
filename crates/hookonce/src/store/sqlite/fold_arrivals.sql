-- Gives the events with several old arrivals that can be told as one row.
select seq, max(arrival), max(at), sum(n)
from hookonce_arrivals
where arrival > :after
  and arrival <= :until
  and at < :before
  and mismatch = 0
group by seq
having count(*) > 1
