-- Keeps a text where it is printable and no longer than so many bytes, else takes its SHA-256: keys and
-- lanes are stored so, by whomever.
create function hookonce.plain_text(whole text, most integer) returns text
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when octet_length(convert_to(whole, 'UTF8')) <= most
      and whole !~ '[\u0001-\u001f\u007f-\u009f\ufffd]' then whole
    else 'sha256:' || encode(sha256(convert_to(whole, 'UTF8')), 'hex')
  end
$$;

comment on function hookonce.plain_text(text, integer) is
  'A key or lane as it is stored: as it is, or as its SHA-256 where it is too long or not printable. '
  'Inner.';
