-- Gives the numbers of events.
select seq
from hookonce.events
where id = any($1::uuid[])
