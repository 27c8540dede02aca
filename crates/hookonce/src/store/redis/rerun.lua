-- completed → pending, as the next run: attempts from 1, no step remembered.
-- Asked: `tasks` by id and route. Answers how many were moved.
local moved = 0
for _, wanted in ipairs(asked.tasks) do
  local route = wanted.route
  local event = event_of(wanted.id)
  local task = event and task_of(event, route)
  local may = task and task.state == 'completed'
  if may and redis.call('EXISTS', key('payload', event.id)) == 1 then
    take_out(event, route, task)
    task.run, task.attempt, task.finished, task.error = task.run + 1, 0, nil, nil
    task.state, task.replayed = 'pending', now
    task.due = not has_head(task.lane) and now or nil
    put_in(event, route, task)
    settle(event, 0)
    -- A total counts the tasks that are completed: this one no longer is.
    count(event.source, 'completed', -1)
    moved = moved + 1
  end
end
return answer(tostring(moved))
