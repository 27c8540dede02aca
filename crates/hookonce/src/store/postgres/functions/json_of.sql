-- Gives a step's result as JSON: what a worker outside recorded is, what a step of ours gave is text.
create function hookonce.json_of(result text) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(json_of.result::jsonb, 'null');
exception
  when data_exception or program_limit_exceeded then
    return to_jsonb(json_of.result);
end
$$;

comment on function hookonce.json_of(text) is
  'A step''s result as JSON: parsed where it is JSON, else as a text. Inner.';
