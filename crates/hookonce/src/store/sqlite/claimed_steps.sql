-- Gives the steps that are remembered of a task's run.
select name, state, result
from hookonce_steps
where seq = :seq
  and route = :route
  and run = :run
