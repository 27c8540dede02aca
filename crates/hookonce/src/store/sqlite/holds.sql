-- Says whether a token still holds.
select 1
from hookonce_tasks
where seq = :seq
  and route = :route
  and state = 'claimed' and token = :token
