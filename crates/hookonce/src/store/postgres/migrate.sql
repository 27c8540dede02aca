-- Takes the lock of whoever changes the tables, until the transaction ends, and sees to it that their
-- version can be written down.
select pg_advisory_xact_lock(hashtextextended('hookonce.migrations', 0));
create schema if not exists hookonce;
create table if not exists hookonce.migrations (
  version integer primary key,
  at timestamptz not null,
  usable_from integer
);
