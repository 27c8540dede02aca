-- Gives all arrivals, as the store has them that was copied.
select
  seq, (extract(epoch from at) * 1000)::bigint, n, mismatch::integer::bigint, element
from hookonce.arrivals
