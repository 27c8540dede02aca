-- Keeps a claim until the transaction ends, if its token holds, gives the transaction's number, and has it
-- be durable; fails at once where somebody's open transaction has locked the task.
select pg_current_xact_id()::text,
  case
    when current_setting('synchronous_commit') in ('off', 'local')
      then set_config('synchronous_commit', 'on', true)
  end
from hookonce.tasks
where seq = $1
  and route = $2
  and state = 'claimed' and token = $3
for update nowait
