-- Gives the steps that are remembered of an event's tasks.
select route, run, name, state, result
from hookonce.steps
where seq = $1
order by route, run, name
