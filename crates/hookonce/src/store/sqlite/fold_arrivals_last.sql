-- Gives the number of the last arrival, where the walk over them ends.
select coalesce(max(arrival), 0)
from hookonce_arrivals
