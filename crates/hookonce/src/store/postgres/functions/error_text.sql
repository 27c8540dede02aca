-- Cuts an error's text to what is kept of it, 2048 bytes, between characters.
create function hookonce.error_text(error text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  bytes bytea := convert_to(coalesce(error_text.error, 'the worker gave no reason'), 'UTF8');
  until integer := least(length(bytes), 2048);
begin
  while until < length(bytes) and get_byte(bytes, until) & 192 = 128 loop
    until := until - 1;
  end loop;
  return convert_from(substring(bytes from 1 for until), 'UTF8');
end
$$;

comment on function hookonce.error_text(text) is
  'An error''s text as it is kept: at most 2048 bytes. Inner.';
