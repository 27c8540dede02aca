-- Gives the next events that still have a payload, whatever their age; and whether a task of theirs may
-- still run or holds its lane, which would otherwise wait for good, and whether one is dead.
select e.seq, e.received_at,
  (select max(at) from hookonce.arrivals a where a.seq = e.seq),
  (select max(finished_at) from hookonce.tasks t where t.seq = e.seq),
  -- Not `exists`: the server might read every task there is, once, in order to answer it.
  (
    select true
    from hookonce.tasks t
    where t.seq = e.seq
      and (t.state in ('pending', 'claimed') or t.due_at is not null)
    limit 1
  ) is not null,
  (select true from hookonce.tasks t where t.seq = e.seq and t.state = 'dead' limit 1) is not null
from hookonce.events e
where e.payload is not null
  and e.seq > $1
order by e.seq
limit $2
