-- Remembers how far a step has come, while the token holds; what is done stays done.
insert into hookonce_steps (seq, route, run, name, state, result)
select seq, route, run, :name, :state, :result
from hookonce_tasks
where seq = :seq
  and route = :route
  and state = 'claimed' and token = :token
on conflict (seq, route, run, name) do update
set state = excluded.state, result = excluded.result
