-- Gives the next events, whatever their age and with or without a payload.
select e.seq, e.received_at,
  coalesce((select max(at) from hookonce_arrivals a where a.seq = e.seq), 0),
  coalesce((select max(finished_at) from hookonce_tasks t where t.seq = e.seq), 0),
  e.payload is null, e.sent_at, e.priority
from hookonce_events e
where e.seq > :after
order by e.seq
limit :limit
