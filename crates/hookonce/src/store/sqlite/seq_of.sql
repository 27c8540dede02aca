-- Gives the number of an event.
select seq
from hookonce_events
where id = :id
