-- dead → pending, attempts from 1 again; pending with a later due time → due now. A task that is not its
-- lane's head waits for the lane.
-- Asked: `tasks` by id and route. Answers how many were moved.
local moved = 0
for _, wanted in ipairs(asked.tasks) do
  local route = wanted.route
  local event = event_of(wanted.id)
  local task = event and task_of(event, route)
  local may = task and (task.state == 'dead' or (task.state == 'pending' and task.due and task.due > now))
  if may and redis.call('EXISTS', key('payload', event.id)) == 1 then
    take_out(event, route, task)
    if task.state == 'dead' then
      task.attempt, task.finished = 0, nil
    end
    task.state, task.replayed = 'pending', now
    task.due = not has_head(task.lane) and now or nil
    put_in(event, route, task)
    forget_begun(event, route)
    settle(event, 0)
    moved = moved + 1
  end
end
return answer(tostring(moved))
