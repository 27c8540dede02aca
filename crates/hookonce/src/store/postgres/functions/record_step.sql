-- Remembers that a step is done, while the token holds.
create function hookonce.record_step(
  id uuid, route text, token uuid, name text, result jsonb
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  task hookonce.tasks;
  remembered integer;
begin
  perform hookonce.expect(
    char_length(record_step.name) between 1 and 128 and record_step.name !~ '[\u0001-\u001f\u007f-\u009f]',
    'a step''s name has 1 to 128 printable characters', 'Give the step a short name, always the same.'
  );
  perform hookonce.expect(
    coalesce(octet_length(record_step.result::text) <= 16384, true),
    'a step''s result is at most 16 KiB long', 'Keep it elsewhere: it comes with each claim of the task.'
  );
  task := hookonce.held(record_step.id, record_step.route, record_step.token);
  select count(*) filter (where s.name <> record_step.name)
  into remembered
  from hookonce.steps s
  where s.seq = task.seq
    and s.route = task.route
    and s.run = task.run;
  perform hookonce.expect(
    remembered < 64, 'a task remembers 64 steps, and has them', 'Put several into one step.'
  );
  insert into hookonce.steps (seq, route, run, name, state, result)
  values (
    task.seq, task.route, task.run, record_step.name, 'done',
    nullif(record_step.result, 'null')::text
  )
  on conflict (seq, route, run, name) do update
  set state = excluded.state, result = excluded.result;
end
$$;

comment on function hookonce.record_step(uuid, text, uuid, text, jsonb) is
  'Remembers that a step is done, and what it gave: later claims of the task carry it. Call it in the '
  'transaction of the step''s effect, or right after it. HK001 where the claim is lost: roll back.';
