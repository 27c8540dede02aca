-- completed → pending, as the next run: attempts from 1, no step remembered.
update hookonce_tasks
set run = run + 1,
  attempt = 0,
  finished_at = null,
  error = null,
  state = 'pending',
  replayed_at = :now,
  due_at = case
    when lane_id is not null and exists (
      select 1
      from hookonce_tasks head
      where head.lane_id = hookonce_tasks.lane_id
        and head.lane_id is not null and (head.state = 'claimed' or head.due_at is not null)
    ) then null
    else :now
  end
where seq = :seq
  and route = :route
  and state = 'completed'
  and exists (select 1 from hookonce_events e where e.seq = :seq and e.payload is not null)
returning source
