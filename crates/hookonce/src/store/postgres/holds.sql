-- Says whether a token still holds, and keeps it so until the transaction ends; fails at once where
-- somebody's open transaction has locked the task.
select 1
from hookonce.tasks
where seq = $1
  and route = $2
  and state = 'claimed' and token = $3
for update nowait
