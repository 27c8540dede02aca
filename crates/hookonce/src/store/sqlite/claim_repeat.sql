-- Gives the tasks that a call with this token claimed before, for an answer that was lost. The
-- index has the claimed tasks alone; unasked, the planner would walk all tasks in order of seq.
select seq, route
from hookonce_tasks indexed by hookonce_tasks_lease
where state = 'claimed'
  and token = :token
order by seq
