-- Makes an event of what was received, with the id that it has everywhere.
create function hookonce.new_event(
  source text, key text, kind text, lane text, payload text, content_type text, priority integer,
  sent_at timestamptz
) returns hookonce.events
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  event hookonce.events;
begin
  perform hookonce.expect(
    new_event.source <> '', 'an event needs a source', 'Give the name of its source.'
  );
  perform hookonce.expect(
    new_event.key <> '', 'an event needs a key', 'Give the sender''s own id of it: the same each time.'
  );
  perform hookonce.expect(
    new_event.payload is not null, 'an event needs a payload', 'Give the text as it was received.'
  );
  perform hookonce.expect(
    new_event.priority between 0 and 2, 'a priority is 0, 1 or 2',
    'Give 0 for what somebody waits for, 1 for everything else, 2 for history.'
  );
  event.source := new_event.source;
  event.key := hookonce.plain_text(new_event.key, 512);
  event.id := hookonce.event_id(
    coalesce(
      (select scope from hookonce.sources where name = new_event.source), new_event.source
    ),
    event.key
  );
  event.kind := hookonce.kind_of(new_event.kind);
  event.lane := hookonce.plain_text(new_event.lane, 256);
  event.payload := new_event.payload;
  event.content_type := coalesce(nullif(new_event.content_type, ''), 'application/json');
  event.priority := new_event.priority;
  event.element := '';
  event.digest := sha256(convert_to(new_event.payload, 'UTF8'));
  event.weak_key := false;
  -- A time that no calendar has says nothing.
  if new_event.sent_at between '0001-01-01 00:00:00+00' and '9999-12-30 00:00:00+00' then
    event.sent_at := new_event.sent_at;
  end if;
  event.received_at := hookonce.clock();
  return event;
end
$$;

comment on function hookonce.new_event(
  text, text, text, text, text, text, integer, timestamptz
) is
  'An event as it is stored, but for its number; HK004 where an argument is not what it has to be. '
  'Inner.';
