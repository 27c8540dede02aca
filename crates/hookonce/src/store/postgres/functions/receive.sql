-- Stores an event unless its key is known, with a task for every route that takes it.
create function hookonce.receive(
  source text, key text, kind text, lane text, payload text,
  content_type text default 'application/json', priority integer default 1,
  sent_at timestamptz default null,
  out id uuid, out is_new boolean
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  event hookonce.events;
  known hookonce.events;
begin
  event := hookonce.new_event(
    receive.source, receive.key, receive.kind, receive.lane, receive.payload, receive.content_type,
    receive.priority, receive.sent_at
  );
  id := event.id;
  -- What was received is durable once it is committed.
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  loop
    select e.seq, e.digest
    into known.seq, known.digest
    from hookonce.events e
    where e.id = event.id;
    if found then
      is_new := false;
      perform hookonce.note_arrival(event, known.seq, known.digest <> event.digest);
      return;
    end if;
    event.seq := coalesce(event.seq, nextval('hookonce.seq'));
    -- Waits for whoever is storing this very key, and for nobody else.
    if hookonce.store_event(event) then
      is_new := true;
      perform hookonce.assign(event);
      return;
    end if;
  end loop;
end
$$;

comment on function hookonce.receive(
  text, text, text, text, text, text, integer, timestamptz
) is
  'Stores an event once, under its source and key, with a task for every route that takes it; gives '
  'its id and whether it is new. Safe in your own transaction at read committed: a duplicate is not '
  'new, and aborts nothing. At stricter levels it may fail with 40001. HK004: an argument.';
