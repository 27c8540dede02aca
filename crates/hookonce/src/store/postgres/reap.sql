-- Takes lapsed claims over: new token and epoch, same attempt, and the lapsed attempt written down.
-- Without a worker: whoever reaps runs nothing, so that no attempt is written down for it.
with lapsed as (
  select seq, route, run, epoch, attempt, worker, claimed_at
  from hookonce.tasks
  where state = 'claimed'
    and lease_until <= (select hookonce.clock())
    -- What lapsed before was looked at before, where the way from the beginning is long.
    and lease_until >= (
      select coalesce(hookonce.clock() - $4::double precision * interval '1 second', '-infinity')
    )
  order by lease_until
  limit $3
  for update skip locked
),
written as (
  insert into hookonce.attempts (
    seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome, error
  )
  select seq, route, epoch, run, attempt, worker, claimed_at, hookonce.clock(), 'lapsed',
    'worker lost: its lease ended before it finished'
  from lapsed
  where worker is not null
)
update hookonce.tasks t
set token = $1,
  worker = null,
  epoch = t.epoch + 1,
  lease_until = hookonce.clock() + $2::double precision * interval '1 second',
  claimed_at = hookonce.clock()
from lapsed l
join hookonce.events e on e.seq = l.seq
where t.seq = l.seq
  and t.route = l.route
returning t.route, t.attempt, t.max_attempts, t.run, t.epoch, t.claimed_at, t.lease_until,
  t.first_route, t.replayed_at, e.seq, e.id, e.source, e.key, e.kind, e.lane, e.priority, e.content_type, e.element,
  e.weak_key, e.sent_at, e.received_at, null::text as payload
