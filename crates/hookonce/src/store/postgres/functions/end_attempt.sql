-- claimed → completed, pending or dead: writes the attempt down, passes the lane on and counts. What has
-- lapsed was taken over: another epoch, and steps only begun are not forgotten.
create function hookonce.end_attempt(
  task hookonce.tasks, ended text, outcome text, error text, after interval
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  now timestamptz := hookonce.clock();
  holds boolean := end_attempt.outcome = 'dead' and exists (
    select 1
    from hookonce.routes
    where name = (end_attempt.task).route
      and on_dead = 'hold'
  );
begin
  -- A janitor's claim has no worker: it runs nothing.
  if task.worker is not null then
    insert into hookonce.attempts (
      seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
    )
    values (
      task.seq, task.route, task.epoch, task.run, task.attempt, task.worker, task.claimed_at, now,
      end_attempt.ended, end_attempt.error
    );
  end if;
  if end_attempt.outcome = 'retry' and end_attempt.ended <> 'lapsed' then
    perform hookonce.forget_begun(task);
  end if;
  if end_attempt.outcome <> 'retry' then
    insert into hookonce.minutes (minute, source, what, n)
    values (date_trunc('minute', now), task.source, end_attempt.outcome, 1);
    if task.lane_id is not null and not holds then
      insert into hookonce.wakes (lane_id)
      values (task.lane_id);
    end if;
  end if;
  update hookonce.tasks t
  set state = case end_attempt.outcome when 'retry' then 'pending' else end_attempt.outcome end,
    epoch = t.epoch + (end_attempt.ended = 'lapsed')::integer,
    due_at = case
      when end_attempt.outcome = 'retry' then now + end_attempt.after
      when holds and t.lane_id is not null then now
    end,
    error = end_attempt.error,
    finished_at = case when end_attempt.outcome <> 'retry' then now end,
    token = null,
    lease_until = null,
    claimed_at = null,
    worker = null
  where t.seq = task.seq
    and t.route = task.route;
end
$$;

comment on function hookonce.end_attempt(hookonce.tasks, text, text, text, interval) is
  'Writes how the attempt of a claimed task ended and what becomes of the task. Inner.';
