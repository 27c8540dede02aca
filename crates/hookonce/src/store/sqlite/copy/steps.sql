-- Gives the steps of the tasks in a range.
select
  seq, route, run, name, state, result
from hookonce_steps
where seq > :after and seq <= :until
order by seq, route, run, name
