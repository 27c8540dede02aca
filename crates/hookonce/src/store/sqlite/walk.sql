-- Gives events, oldest first, between two numbers; of a payload only whether it is there.
select e.seq, e.id, e.source, e.key, e.kind, e.lane, e.priority, e.content_type, e.element,
  e.weak_key, e.sent_at, e.received_at, iif(e.payload is null, null, '') as payload
from hookonce_events e
where e.seq > :after
  and e.seq <= :edge
  and (:source is null or e.source = :source)
  and (:kind is null or e.kind glob :kind)
  and (:lane is null or e.lane = :lane)
  and (:recorded = 0 or not exists (select 1 from hookonce_tasks t where t.seq = e.seq))
  and (
    (:route is null and :state is null and :movable = 0)
    or exists (
      select 1
      from hookonce_tasks t
      where t.seq = e.seq
        and (:route is null or t.route = :route)
        and (:state is null or t.state = :state)
        and (:movable = 0 or t.state = 'pending' or t.state = 'dead')
    )
  )
order by e.seq
limit :limit
