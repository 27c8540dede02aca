-- Gives when the store was made, and how many events it has.
select (select min(at) from hookonce_migrations), (select count(*) from hookonce_events)
