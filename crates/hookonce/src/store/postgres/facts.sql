-- Says how the server and the store's tables are, as far as this user may see. What only a superuser
-- or a member of pg_read_all_stats sees of others' sessions is null.
select
  current_setting('server_version'),
  (select max(version) from hookonce.migrations),
  clock_timestamp(),
  pg_is_in_recovery(),
  current_setting('transaction_read_only') = 'on',
  current_setting('fsync') = 'on',
  (select count(*) from pg_stat_activity where backend_type = 'client backend'),
  current_setting('max_connections')::bigint
    - current_setting('superuser_reserved_connections')::bigint,
  (
    select extract(epoch from max(clock_timestamp() - xact_start))::double precision
    from pg_stat_activity
    where backend_type = 'client backend'
      and pid <> pg_backend_pid()
      and (backend_xid is not null or backend_xmin is not null)
  ),
  (
    select extract(epoch from max(clock_timestamp() - prepared))::double precision
    from pg_prepared_xacts
  ),
  (
    select count(*)
    from pg_replication_slots
    where not active and (xmin is not null or restart_lsn is not null)
  ),
  coalesce((select n_dead_tup from pg_stat_user_tables where relid = 'hookonce.tasks'::regclass), 0),
  coalesce((select n_live_tup from pg_stat_user_tables where relid = 'hookonce.tasks'::regclass), 0)
