-- Gives the version of the tables, and looks where an event would be stored: at the end of each
-- table, and at its place in the index.
select
  (select max(version) from hookonce_migrations),
  (select value from hookonce_meta where name = 'keys_pruned_until'),
  (select max(seq) from hookonce_events),
  (select max(seq) from hookonce_tasks),
  (select seq from hookonce_events where id = randomblob(16))
