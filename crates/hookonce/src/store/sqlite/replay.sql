-- dead → pending, attempts from 1 again; pending with a later due time → due now. A task that is
-- not its lane's head waits for the lane.
update hookonce_tasks
set attempt = iif(state = 'dead', 0, attempt),
  finished_at = null,
  state = 'pending',
  replayed_at = :now,
  due_at = case
    when due_at is null and lane_id is not null and exists (
      select 1
      from hookonce_tasks head
      where head.lane_id = hookonce_tasks.lane_id
        and head.lane_id is not null and (head.state = 'claimed' or head.due_at is not null)
    ) then null
    else :now
  end
where seq = :seq
  and route = :route
  and (state = 'dead' or (state = 'pending' and due_at > :now))
  and exists (select 1 from hookonce_events e where e.seq = :seq and e.payload is not null)
