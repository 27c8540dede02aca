-- claimed → completed, while the token holds; beside the effect, in one transaction with it.
create function hookonce.finish(id uuid, route text, token uuid) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform hookonce.end_attempt(
    hookonce.held(finish.id, finish.route, finish.token), 'completed', 'completed', null, null
  );
end
$$;

comment on function hookonce.finish(uuid, text, uuid) is
  'Completes a claimed task. Call it in the transaction of your effect: both happen or neither does. '
  'HK001 where the claim is lost: roll back.';
