-- Says how far an event's handling has come.
select
  (
    select count(*)
    from hookonce_tasks t
    where t.seq = e.seq
      and (t.state = 'pending' or t.state = 'claimed')
  ),
  (
    select count(*)
    from hookonce_attempts a
    where a.seq = e.seq
      and (a.outcome = 'retry' or a.outcome = 'lapsed' or a.outcome = 'released')
  )
from hookonce_events e
where e.id = :id
