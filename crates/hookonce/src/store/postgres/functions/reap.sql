-- Takes lapsed claims of these routes over and ends their attempts by the routes' policies.
create function hookonce.reap(routes text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  task hookonce.tasks;
begin
  for task in
    select t.*
    from hookonce.tasks t
    where t.state = 'claimed'
      and t.lease_until <= (select hookonce.clock())
      and t.route = any(reap.routes)
    order by t.lease_until
    limit 256
    for update skip locked
  loop
    perform hookonce.fail_attempt(
      task, 'lapsed', 'worker lost: its lease ended before it finished', null
    );
  end loop;
end
$$;

comment on function hookonce.reap(text[]) is
  'Ends the attempts of these routes'' claims whose leases have ended; a crash is a failed attempt. '
  'Inner.';
