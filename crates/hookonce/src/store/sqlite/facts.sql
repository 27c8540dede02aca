-- Gives the version of the tables, and how changes are written.
select
  (select max(version) from hookonce_migrations),
  (select journal_mode from pragma_journal_mode)
