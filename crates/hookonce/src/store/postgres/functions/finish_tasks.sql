-- claimed → completed, pending or dead, while the tokens hold: writes down the attempts, passes the
-- lanes on and counts, all in one. Gives the tasks whose tokens hold, and whether it was done: what
-- somebody's open transaction has locked is not waited for.
create or replace function hookonce.finish_tasks(
  seqs bigint[], routes text[], tokens uuid[], outcomes text[], errors text[],
  afters double precision[], holds boolean[], reaped boolean[]
)
returns table (seq bigint, route text, is_done boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;

  return query
  with held as (
    select t.seq, t.route, t.source, t.lane_id, t.run, t.epoch, t.attempt, t.worker, t.claimed_at,
      g.outcome, g.error, g.after, g.holds, g.reaped
    from unnest(
      seqs, routes, tokens, outcomes, errors, afters,
      holds, reaped
    ) as g (seq, route, token, outcome, error, after, holds, reaped)
    join hookonce.tasks t on t.seq = g.seq and t.route = g.route
    -- Said so that no index but the key's is thought to find it.
    where t.state is not distinct from 'claimed' and t.token is not distinct from g.token
    order by t.seq, t.route
    for update of t skip locked
  ),
  written as (
    insert into hookonce.attempts (
      seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
    )
    select seq, route, epoch, run, attempt, worker, claimed_at, hookonce.clock(), outcome, error
    from held
    where worker is not null
  ),
  forgotten as (
    delete from hookonce.steps s
    using held h
    where s.seq = h.seq
      and s.route = h.route
      and s.run = h.run
      and s.state = 'begun'
      and h.outcome = 'retry'
      and not h.reaped
  ),
  woken as (
    insert into hookonce.wakes (lane_id)
    select distinct lane_id
    from held
    where lane_id is not null
      and outcome <> 'retry'
      and not holds
  ),
  counted as (
    insert into hookonce.minutes (minute, source, what, n)
    select date_trunc('minute', hookonce.clock()), source, outcome, count(*)
    from held
    where outcome <> 'retry'
    group by source, outcome
  ),
  ended as (
    update hookonce.tasks t
    set state = case h.outcome when 'retry' then 'pending' else h.outcome end,
      due_at = case
        when h.outcome = 'retry' then hookonce.clock() + h.after * interval '1 second'
        when h.outcome = 'dead' and h.holds and t.lane_id is not null then hookonce.clock()
      end,
      error = h.error,
      finished_at = case when h.outcome <> 'retry' then hookonce.clock() end,
      token = null,
      lease_until = null,
      claimed_at = null,
      worker = null
    from held h
    where t.seq = h.seq
      and t.route = h.route
    returning t.seq, t.route
  )
  select t.seq, t.route, (t.seq, t.route) in (select e.seq, e.route from ended e)
  from unnest(seqs, routes, tokens) as g (seq, route, token)
  join hookonce.tasks t on t.seq = g.seq and t.route = g.route
  where t.state is not distinct from 'claimed' and t.token is not distinct from g.token;
end
$$;

comment on function hookonce.finish_tasks is
  'Writes how claims end, while their tokens hold; used by the server''s workers.';
