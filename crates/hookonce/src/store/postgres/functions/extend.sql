-- Lets a claim end later, while its token holds and its lease has not ended.
create function hookonce.extend(id uuid, route text, token uuid, lease interval) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  task hookonce.tasks;
begin
  perform hookonce.expect_lease(extend.lease);
  task := hookonce.held(extend.id, extend.route, extend.token);
  if task.lease_until <= hookonce.clock() then
    raise exception using
      errcode = 'HK001',
      message = format(
        'the claim of event %s for route `%s` is lost: its lease has ended', extend.id, extend.route
      ),
      hint = 'Roll back and claim what is due; extend a lease well before it ends.';
  end if;
  update hookonce.tasks
  set lease_until = hookonce.clock() + extend.lease
  where seq = task.seq
    and route = task.route;
end
$$;

comment on function hookonce.extend(uuid, text, uuid, interval) is
  'Lets a claim end so long from now. Call it by itself, not in the transaction of your effect, about '
  'every third of the lease. HK001 where the claim is lost or its lease has ended.';
