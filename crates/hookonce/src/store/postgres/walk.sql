-- Gives events, oldest first, between two numbers; of a payload only whether it is there.
select e.seq, e.id, e.source, e.key, e.kind, e.lane, e.priority, e.content_type, e.element,
  e.weak_key, e.sent_at, e.received_at, case when e.payload is not null then '' end as payload
from hookonce.events e
where e.seq > $1
  and e.seq <= $2
  and ($3::text is null or e.source = $3)
  and ($4::text is null or e.kind like $4)
  and ($5::text is null or e.lane = $5)
  and (not $6::boolean or not exists (select 1 from hookonce.tasks t where t.seq = e.seq))
  and (
    ($7::text is null and $8::text is null and not $10::boolean)
    or exists (
      select 1
      from hookonce.tasks t
      where t.seq = e.seq
        and ($7::text is null or t.route = $7)
        and ($8::text is null or t.state = $8)
        and (not $10::boolean or t.state in ('pending', 'dead'))
    )
  )
order by e.seq
limit $9
