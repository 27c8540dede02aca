-- Gives the next events with the size of their payloads.
select seq, coalesce(octet_length(payload), 0)
from hookonce_events
where seq > :after
order by seq
limit :limit
