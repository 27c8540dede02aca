-- Gives what one event's old arrivals come to, duplicates and mismatches apart, where they are several
-- rows; a row that keeps its element stays as it is.
select mismatch, max(arrival), max(at), sum(n)
from hookonce_arrivals
where seq = :seq
  and at < :before
  and element is null
group by mismatch
having count(*) > 1
