-- claimed → pending, due after a while, while the token holds: this attempt doesn't count.
create function hookonce.release(id uuid, route text, token uuid, after interval) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  task hookonce.tasks;
begin
  perform hookonce.expect(
    coalesce(release.after between interval '0' and interval '30 days', true),
    'a wait is from nothing to 30 days', 'Give one such as `interval ''10 seconds''`.'
  );
  task := hookonce.held(release.id, release.route, release.token);
  perform hookonce.forget_begun(task);
  update hookonce.tasks
  set state = 'pending',
    attempt = attempt - 1,
    due_at = hookonce.clock() + coalesce(release.after, interval '0'),
    token = null,
    lease_until = null,
    claimed_at = null,
    worker = null
  where seq = task.seq
    and route = task.route;
end
$$;

comment on function hookonce.release(uuid, text, uuid, interval) is
  'Gives a claim back that nothing was done about: due again after the wait, and the attempt doesn''t '
  'count. HK001 where the claim is lost.';
