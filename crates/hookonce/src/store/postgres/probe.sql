-- Gives the version of the tables, whether the server can be written to now, and whether a copy into the
-- store is not finished.
select
  max(version),
  not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off',
  exists (select from hookonce.copy)
from hookonce.migrations
