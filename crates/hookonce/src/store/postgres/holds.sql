-- Keeps a claim until the transaction ends, if its token holds, and gives the transaction's number; fails
-- at once where somebody's open transaction has locked the task.
select pg_current_xact_id()::text
from hookonce.tasks
where seq = $1
  and route = $2
  and state = 'claimed' and token = $3
for update nowait
