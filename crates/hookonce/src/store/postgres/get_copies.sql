-- Gives how often events arrived after their first time, and how often they differed.
select seq, sum(n)::bigint, coalesce(sum(n) filter (where mismatch), 0)::bigint
from hookonce.arrivals
where seq = any($1::bigint[])
group by seq
