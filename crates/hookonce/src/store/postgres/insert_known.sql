-- Gives the events of these ids that are known.
select id, seq, digest
from hookonce.events
where id = any($1::uuid[])
