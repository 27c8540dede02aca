-- Gives the version of the tables, and whether the server can be written to now.
select max(version), not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
from hookonce.migrations
