-- Says what became of a transaction, of which nothing is known but its number.
select pg_xact_status($1::bigint::text::xid8)
