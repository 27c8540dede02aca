-- Gives all single values, as the store has them that was copied.
select
  name, (extract(epoch from value) * 1000)::bigint
from hookonce.meta
