-- Writes a kind as it is stored: lower-case, of a-z, 0-9, _ and dots alone, at most 64 of them.
create function hookonce.kind_of(word text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select left(
    regexp_replace(
      lower(coalesce(nullif(word, ''), 'unknown') collate "C"), '[^a-z0-9_.]', '_', 'g'
    ),
    64
  )
$$;

comment on function hookonce.kind_of(text) is
  'A kind as it is stored; a missing one is `unknown`. Inner.';
