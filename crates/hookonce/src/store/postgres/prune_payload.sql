-- Deletes the payloads of events that have no task to be done meanwhile, and gives those it deleted.
update hookonce.events e
set payload = null
where e.seq = any($1::bigint[])
  and e.payload is not null
  and not exists (
    select 1
    from hookonce.tasks t
    where t.seq = e.seq
      and (t.state in ('pending', 'claimed') or t.due_at is not null)
  )
returning e.seq
