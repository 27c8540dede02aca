-- Gives how often an event arrived after its first time, and how often it differed.
select coalesce(sum(n), 0), coalesce(sum(n * mismatch), 0)
from hookonce_arrivals
where seq = :seq
