-- Stores events from one number to another with a task each: of a hundred, one in a lane whose head is
-- claimed, nineteen pending in many lanes, the others completed.
create temporary table filled as
select nextval('hookonce.seq') as seq, gen_random_uuid() as id, n,
  case
    when n % 100 = 0 then md5('blocked')::uuid
    when n % 100 < 20 then md5((n / 100)::text)::uuid
    else md5((n % 5000)::text)::uuid
  end as lane_id,
  case when n % 100 < 20 then 'pending' else 'completed' end as state
from generate_series({from} + 1, {to}) n
order by n;

insert into hookonce.events (
  seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key, received_at,
  payload
)
select seq, id, 'whatsapp', 'message:200000000000001:wamid.FILLED' || n, 'message.text',
  lane_id::text, 0, 'application/json', '/entry/0/changes/0/value/messages/0',
  sha256(n::text::bytea), false, now(), repeat(md5(n::text), 14)
from filled;

insert into hookonce.tasks (
  seq, route, event_id, source, lane_id, priority, state, max_attempts, due_at, token, lease_until,
  claimed_at, worker, attempt, epoch, finished_at
)
select seq, 'r', id, 'whatsapp', lane_id, 0,
  case when is_blocked then 'claimed' else state end, 24,
  case when is_head and not is_blocked then now() end,
  case when is_blocked then gen_random_uuid() end,
  case when is_blocked then now() + interval '1 day' end,
  case when is_blocked then now() end,
  case when is_blocked then 'bench' end,
  case when is_blocked or state = 'completed' then 1 else 0 end,
  case when is_blocked or state = 'completed' then 1 else 0 end,
  case when state = 'completed' then now() end
from (
  select f.*,
    is_head and n % 100 = 0 and {from} = 0 as is_blocked
  from (
    select filled.*,
      state = 'pending' and row_number() over (partition by lane_id, state order by seq) = 1
        and not (n % 100 = 0 and {from} > 0) as is_head
    from filled
  ) f
) f;

insert into hookonce.attempts (seq, route, epoch, run, attempt, worker, started_at, ended_at, outcome)
select seq, 'r', 1, 1, 1, 'bench', now(), now(), 'completed'
from filled
where state = 'completed';

drop table filled;
