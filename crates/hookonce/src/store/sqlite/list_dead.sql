-- Gives the numbers of events with a dead task, newest first.
select distinct seq
from hookonce_tasks
where state = 'dead'
  and seq < :after
order by seq desc
limit :looked
