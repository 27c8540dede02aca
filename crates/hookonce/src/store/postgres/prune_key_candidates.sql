-- Gives the next events, whatever their age and with or without a payload.
select e.seq, e.received_at,
  (select max(at) from hookonce.arrivals a where a.seq = e.seq),
  (select max(finished_at) from hookonce.tasks t where t.seq = e.seq),
  e.payload is null, e.sent_at, e.priority
from hookonce.events e
where e.seq > $1
order by e.seq
limit $2
