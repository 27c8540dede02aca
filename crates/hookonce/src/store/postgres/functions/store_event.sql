-- Stores an event unless its id is known. Above read committed whoever stored it meanwhile can't be seen,
-- and the error says what to do.
create function hookonce.store_event(event hookonce.events) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
    insert into hookonce.events
    values (event.*)
    on conflict (id) do nothing;
    return found;
  end if;
  begin
    insert into hookonce.events
    values (event.*)
    on conflict (id) do nothing;
    return found;
  exception
    when serialization_failure then
      raise exception using
        errcode = '40001',
        message = 'another transaction stored this event while this one was open',
        hint = 'Roll back and run the whole transaction again, or call `receive` at read committed, '
          'where the event is then just not new.';
  end;
end
$$;

comment on function hookonce.store_event(hookonce.events) is
  'Whether an event was stored, because its id was unknown. Inner.';
