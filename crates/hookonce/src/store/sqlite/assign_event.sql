-- Gives what a task is made from, of an event that still has its payload.
select seq, source, lane, priority, exists (select 1 from hookonce_tasks t where t.seq = e.seq),
  kind = 'unreadable', sent_at
from hookonce_events e
where id = :id
  and payload is not null
