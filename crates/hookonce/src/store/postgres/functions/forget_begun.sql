-- Forgets the steps of a task's run that were only begun.
create function hookonce.forget_begun(task hookonce.tasks) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  delete from hookonce.steps s
  where s.seq = task.seq
    and s.route = task.route
    and s.run = task.run
    and s.state = 'begun'
$$;

comment on function hookonce.forget_begun(hookonce.tasks) is
  'Forgets steps that were only begun: whoever ends the attempt knows what became of them. Inner.';
