-- Computes the id of an event from its scope and key: UUIDv8 of SHA-256 over both, each behind its length.
create function hookonce.event_id(scope text, key text) returns uuid
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select encode(
    set_byte(
      set_byte(hash, 6, get_byte(hash, 6) & 15 | 128),
      8, get_byte(hash, 8) & 63 | 128
    ),
    'hex'
  )::uuid
  from (values (convert_to(event_id.scope, 'UTF8'), convert_to(event_id.key, 'UTF8'))) as p (scope, key)
  cross join lateral substring(
    sha256(int4send(length(p.scope)) || p.scope || int4send(length(p.key)) || p.key) from 1 for 16
  ) as h (hash)
$$;

comment on function hookonce.event_id(text, text) is
  'The id of the event that has this key within this scope, the same on every node and in every '
  'store. Inner.';
