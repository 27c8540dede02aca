-- Gives all counts, as the store has them that was copied.
select
  (extract(epoch from minute) * 1000)::bigint, source, what, n
from hookonce.minutes
