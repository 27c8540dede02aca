-- Says what became of the transaction with this number.
select pg_xact_status($1::text::xid8)
