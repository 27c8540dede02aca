-- Counts the events up to a number.
select count(*)
from hookonce_events
where seq <= :after
