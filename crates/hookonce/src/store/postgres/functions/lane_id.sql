-- Computes a lane's id: 128 bits of SHA-256 over source, route and lane, each closed by a byte that no
-- text has.
create function hookonce.lane_id(source text, route text, lane text) returns uuid
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select encode(
    substring(
      sha256(
        convert_to(source, 'UTF8') || '\xff'::bytea
        || convert_to(route, 'UTF8') || '\xff'::bytea
        || convert_to(lane, 'UTF8') || '\xff'::bytea
      ) from 1 for 16
    ),
    'hex'
  )::uuid
$$;

comment on function hookonce.lane_id(text, text, text) is
  'The id of a lane of one source, for one route. Inner.';
