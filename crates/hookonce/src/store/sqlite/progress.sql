-- Says how far an event's handling has come.
select
  (
    select count(*)
    from hookonce_tasks t
    where t.seq = e.seq
      and (t.state = 'pending' or t.state = 'claimed')
  ),
  (
    select coalesce(sum(epoch), 0)
    from (
      select max(a.epoch) as epoch
      from hookonce_attempts a
      where a.seq = e.seq
        and (a.outcome = 'retry' or a.outcome = 'lapsed' or a.outcome = 'released')
      group by a.route
    )
  )
from hookonce_events e
where e.id = :id
