-- Gives what a task is made from, of events that still have their payload.
select id, seq, source, lane, priority,
  exists (select 1 from hookonce.tasks t where t.seq = e.seq), kind = 'unreadable', sent_at
from hookonce.events e
where id = any($1::uuid[])
  and payload is not null
