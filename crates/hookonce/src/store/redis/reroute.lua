-- dead or pending → pending, as a task of another route, attempts from 1, with the steps that are done and
-- its attempts; a task that is not its lane's head waits for the lane.
-- Asked: `tasks` by id and route, `to`, `max`, `ordered`. Answers how many were moved.
local moved = 0
for _, wanted in ipairs(asked.tasks) do
  local from, to = wanted.route, asked.to
  local event = event_of(wanted.id)
  local task = event and task_of(event, from)
  local may = task and (task.state == 'dead' or task.state == 'pending') and not task_of(event, to)
  if may and redis.call('EXISTS', key('payload', event.id)) == 1 then
    local text, left = key('event', event.id), task.lane
    take_out(event, from, task)
    forget_begun(event, from)
    for _, field in ipairs({ 'steps:', 'attempts:' }) do
      keep_list(event, field .. to, list_of(event, field .. from))
      redis.call('HDEL', text, field .. from)
    end
    redis.call('HDEL', text, 'task:' .. from)
    task.first, task.lane = task.first or from, asked.ordered and event.lane and lane_of(event, to) or nil
    task.attempt, task.max, task.finished = 0, asked.max, nil
    task.state, task.replayed = 'pending', now
    task.due = not has_head(task.lane) and now or nil
    put_in(event, to, task)
    note_route(event, to, from)
    settle(event, 0)
    pass_lane(left)
    moved = moved + 1
  end
end
return answer(tostring(moved))
