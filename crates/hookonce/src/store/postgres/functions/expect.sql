-- Refuses a call whose argument is not what it has to be.
create function hookonce.expect(is_so boolean, message text, hint text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if expect.is_so is not true then
    raise exception using errcode = 'HK004', message = expect.message, hint = expect.hint;
  end if;
end
$$;

comment on function hookonce.expect(boolean, text, text) is
  'Refuses a call (HK004) whose argument is not what it has to be. Inner.';
