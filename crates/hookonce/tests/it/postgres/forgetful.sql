-- The first commit of an event kills its connection, and the server says of every number that it was
-- committed, as one does that forgot a transaction and gave its number to another.
create sequence public.dying;
create function public.die() returns trigger
language plpgsql
as $$
begin
  if nextval('public.dying') = 1 then
    perform pg_terminate_backend(pg_backend_pid());
  end if;
  return null;
end
$$;
create constraint trigger die after insert on hookonce.events
deferrable initially deferred
for each row execute function public.die();
create function public.pg_xact_status(xid8) returns text
language sql
as $$ select 'committed' $$;
