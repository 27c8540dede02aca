-- Gives the numbers of events with a dead task, oldest first.
select distinct seq
from hookonce.tasks
where state = 'dead'
  and seq > $1
order by seq
limit $2
