-- Tells the other nodes that tasks may have become due.
select pg_notify('hookonce_due', $1::text)
