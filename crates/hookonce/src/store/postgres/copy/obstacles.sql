-- Says whether the store has anything in it, and whether anybody else has it open: a store listens.
select
  exists (select from hookonce.events)
    or exists (select from hookonce.arrivals)
    or exists (select from hookonce.tasks)
    or exists (select from hookonce.attempts)
    or exists (select from hookonce.steps)
    or exists (select from hookonce.minutes)
    or exists (select from hookonce.audit)
    or exists (select from hookonce.meta),
  exists (
    select
    from pg_stat_activity
    where datname = current_database()
      and pid <> pg_backend_pid()
      and query like '%listen hookonce\_due%'
  )
