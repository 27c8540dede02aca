-- dead or pending → pending, as a task of another route, attempts from 1; a task that is not its
-- lane's head waits for the lane.
update hookonce_tasks
set route = :to,
  first_route = coalesce(first_route, route),
  lane_id = :lane_id,
  attempt = 0,
  max_attempts = :max_attempts,
  finished_at = null,
  state = 'pending',
  replayed_at = :now,
  due_at = case
    when :lane_id is not null and exists (
      select 1
      from hookonce_tasks head
      where head.lane_id = :lane_id
        and head.lane_id is not null and (head.state = 'claimed' or head.due_at is not null)
    ) then null
    else :now
  end
where seq = :seq
  and route = :route
  and (state = 'dead' or state = 'pending')
  and not exists (select 1 from hookonce_tasks t where t.seq = :seq and t.route = :to)
