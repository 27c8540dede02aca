-- Gives the numbers of events with a dead task, oldest first.
select distinct seq
from hookonce_tasks
where state = 'dead'
  and seq > :after
order by seq
limit :looked
