-- Gives stored events tasks of routes that they have none of yet; dead where they would be on arrival. An
-- event without payload is left alone.
-- Asked: `tasks` by id with `route`, `max` and `ordered`, `unreadable`, `too_old`. Answers how many.
local moved = 0

local function dead_reason(event)
  local about = about(event.id)
  if about.unreadable then
    return asked.unreadable
  elseif is_too_old(event, about.sent) then
    return asked.too_old
  end
end

for _, wanted in ipairs(asked.tasks) do
  local route = wanted.route
  local event = event_of(wanted.id)
  local may = event and not task_of(event, route)
  if may and redis.call('EXISTS', key('payload', event.id)) == 1 then
    local dead = dead_reason(event)
    make_task(event, wanted, dead)
    if #event.routes == 0 then
      count(event.source, 'unrouted', -1)
    end
    note_route(event, route)
    settle(event, dead and now or 0)
    moved = moved + 1
  end
end
return answer(tostring(moved))
