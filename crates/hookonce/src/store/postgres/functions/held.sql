-- Gives a claimed task while the token holds, and keeps it so until the transaction ends; fails where
-- the claim is lost.
create function hookonce.held(id uuid, route text, token uuid) returns hookonce.tasks
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  task hookonce.tasks;
begin
  select t.*
  into task
  from hookonce.events e
  join hookonce.tasks t on t.seq = e.seq
  where e.id = held.id
    and t.route = held.route
    and t.state = 'claimed' and t.token = held.token
  for update of t;
  if not found then
    raise exception using
      errcode = 'HK001',
      message = format('the claim of event %s for route `%s` is lost', held.id, held.route),
      detail = 'Its lease ended and another took the task over, or it was finished or given back.',
      hint = 'Roll back, so that nothing of this attempt remains, and claim what is due.';
  end if;
  return task;
end
$$;

comment on function hookonce.held(uuid, text, uuid) is
  'The task of a claim while its token holds, locked; HK001 where the claim is lost. Inner.';
