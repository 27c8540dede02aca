-- Remembers how far a step has come, while the token holds; fails at once where somebody's open
-- transaction has locked the task.
insert into hookonce.steps (seq, route, run, name, state, result)
select seq, route, run, $4, $5, $6
from hookonce.tasks
where seq = $1
  and route = $2
  and state = 'claimed' and token = $3
  -- Durable: a step that has begun may not be forgotten.
  and (
    current_setting('synchronous_commit') not in ('off', 'local')
    or set_config('synchronous_commit', 'on', true) is not null
  )
for update nowait
on conflict (seq, route, run, name) do update
set state = excluded.state, result = excluded.result
returning seq
