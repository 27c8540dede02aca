-- Gives events without payload that are older than the limit, by the sender's time too.
select e.seq, e.received_at,
  coalesce((select max(at) from hookonce_arrivals a where a.seq = e.seq), 0),
  coalesce((select max(finished_at) from hookonce_tasks t where t.seq = e.seq), 0),
  e.sent_at, e.priority
from hookonce_events e
where e.seq > :after
  and e.received_at < :before
  and e.payload is null
order by e.seq
limit :limit
