-- Gives this transaction's number.
select pg_current_xact_id()::text
