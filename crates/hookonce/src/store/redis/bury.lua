-- pending → dead, by a person; a dead task that holds its lane gives it up.
-- Asked: `tasks` by id and route, `error`. Answers how many were moved.
local moved = 0
for _, wanted in ipairs(asked.tasks) do
  local route = wanted.route
  local event = event_of(wanted.id)
  local task = event and task_of(event, route)
  if task and (task.state == 'pending' or (task.state == 'dead' and task.due)) then
    take_out(event, route, task)
    local died = task.finished or now
    if task.state == 'pending' then
      task.error, died = asked.error, now
    end
    task.state, task.due, task.finished = 'dead', nil, died
    put_in(event, route, task)
    settle(event, died)
    pass_lane(task.lane)
    moved = moved + 1
  end
end
return answer(tostring(moved))
