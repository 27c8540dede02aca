-- Gives the version of the tables and the oldest whose programs still work with them, whether the server
-- can be written to now, and whether a copy into the store is not finished.
select
  version,
  usable_from,
  not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off',
  exists (select from hookonce.copy)
from hookonce.migrations
order by version desc
limit 1
