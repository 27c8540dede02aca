-- Ends a failed attempt by its route's policy: due again after a while, or dead. A route that the
-- configuration no longer has retries by the defaults.
create function hookonce.fail_attempt(
  task hookonce.tasks, ended text, error text, after interval
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  policy hookonce.routes;
  wait interval;
  outcome text;
begin
  select *
  into policy
  from hookonce.routes r
  where r.name = task.route;
  wait := hookonce.retry_after(
    task.attempt, task.max_attempts, coalesce(policy.retry_min, interval '5 seconds'),
    coalesce(policy.retry_max, interval '2 hours'), random()
  );
  outcome := case when wait is null then 'dead' else 'retry' end;
  perform hookonce.end_attempt(
    task, coalesce(fail_attempt.ended, outcome), outcome, fail_attempt.error,
    coalesce(fail_attempt.after, wait)
  );
end
$$;

comment on function hookonce.fail_attempt(hookonce.tasks, text, text, interval) is
  'Ends a failed attempt by its route''s policy, or after the wait that was asked for. Inner.';
