-- Says whether a kind is what a glob says, where a * stands for any characters, none included.
create function hookonce.glob_matches(glob text, kind text) returns boolean
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select kind collate "C" like
    replace(replace(replace(replace(glob, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')
$$;

comment on function hookonce.glob_matches(text, text) is
  'Whether a kind is what a route''s glob says. Inner.';
