-- Gives the numbers of events with a dead task, newest first.
select distinct seq
from hookonce.tasks
where state = 'dead'
  and seq < $1
order by seq desc
limit $2
