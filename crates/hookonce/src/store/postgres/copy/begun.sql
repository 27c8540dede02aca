-- Gives the copy that is not finished, if there is one.
select
  (extract(epoch from made_at) * 1000)::bigint,
  (extract(epoch from began_at) * 1000)::bigint,
  seq,
  is_whole
from hookonce.copy
