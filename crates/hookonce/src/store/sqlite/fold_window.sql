-- Gives the number of the last of the next arrivals that are old enough to be folded.
select max(arrival)
from (
  select arrival
  from hookonce_arrivals
  where arrival > :after
    and at < :before
  order by arrival
  limit :limit
)
