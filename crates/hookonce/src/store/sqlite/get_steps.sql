-- Gives the steps that are remembered of an event's tasks.
select route, run, name, state, result
from hookonce_steps
where seq = :seq
order by route, run, name
