-- Gives the tasks that a call with this token claimed before, for an answer that was lost.
select seq, route
from hookonce.tasks
where token = $1
order by seq
