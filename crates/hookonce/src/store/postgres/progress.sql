-- Says how far the handling of events has come.
select e.id,
  (
    select count(*)
    from hookonce.tasks t
    where t.seq = e.seq
      and t.state in ('pending', 'claimed')
  ),
  (
    select coalesce(sum(epoch), 0)::bigint
    from (
      select max(a.epoch) as epoch
      from hookonce.attempts a
      where a.seq = e.seq
        and a.outcome in ('retry', 'lapsed', 'released')
      group by a.route
    ) failed
  )
from hookonce.events e
where e.id = any($1::uuid[])
