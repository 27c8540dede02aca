-- Gives this transaction's number, and has it be durable.
select pg_current_xact_id()::text,
  case
    when current_setting('synchronous_commit') in ('off', 'local')
      then set_config('synchronous_commit', 'on', true)
  end
