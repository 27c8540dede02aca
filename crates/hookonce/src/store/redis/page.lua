-- Gives events by their numbers, one way or the other, that a filter shows; writes nothing.
-- Asked: `newest_first`, `after`, `looked`, `limit`, `dead` (only such that have a dead task), and of the
-- filter `source`, `kind` (what stands between the stars of a glob), `lane`, `route`, `state` (a task's,
-- `recorded` or `movable`). Answers the number down or up to which it looked, none where it came to the end;
-- then the events. Of an `id` that is asked for, that event alone.

-- Whether a text begins with the first of these, ends with the last, and has the others between, in order.
local function fits(text, parts)
  local first, last = parts[1], parts[#parts]
  if #parts == 1 or text:sub(1, #first) ~= first then
    return text == first
  end
  local from = #first + 1
  for n = 2, #parts - 1 do
    local _, to = text:find(parts[n], from, true)
    if not to then
      return false
    end
    from = to + 1
  end
  return #text - #last + 1 >= from and text:sub(#text - #last + 1) == last
end

local function shows(route, task)
  if asked.route and asked.route ~= route then
    return false
  elseif asked.state == 'movable' then
    return task.state == 'pending' or task.state == 'dead'
  end
  return not asked.state or task.state == asked.state
end

local function is_shown(id, values)
  local event = cjson.decode(values[2])
  local routes = event.routes
  if (asked.source and event.source ~= asked.source) or (asked.lane and event.lane ~= asked.lane) then
    return false
  elseif asked.kind and not fits(cjson.decode(values[1]).kind, asked.kind) then
    return false
  elseif asked.state == 'recorded' then
    return #routes == 0 and not asked.route
  elseif not asked.route and not asked.state then
    return true
  end
  for _, route in ipairs(routes) do
    if shows(route, task_of({ id = id }, route)) then
      return true
    end
  end
  return false
end

local set = asked.dead and key('dead') or key('ids')
local rows
if asked.id then
  local event = event_of(asked.id)
  rows = event and { asked.id, event.seq } or {}
elseif asked.newest_first then
  local from = asked.after and string.format('(%d', asked.after) or '+inf'
  rows = redis.call('ZREVRANGEBYSCORE', set, from, '-inf', 'WITHSCORES', 'LIMIT', 0, asked.looked)
else
  local from = asked.after and string.format('(%d', asked.after) or '-inf'
  rows = redis.call('ZRANGEBYSCORE', set, from, '+inf', 'WITHSCORES', 'LIMIT', 0, asked.looked)
end
local events, edge = {}, not asked.id and #rows == 2 * asked.looked and rows[#rows] or ''
for n = 1, #rows, 2 do
  local id = rows[n]
  local values = redis.call('HMGET', key('event', id), 'about', 'state', 'arrivals')
  if is_shown(id, values) then
    local tasks = {}
    for _, route in ipairs(cjson.decode(values[2]).routes) do
      table.insert(tasks, redis.call('HGET', key('event', id), 'task:' .. route))
    end
    local has_payload = redis.call('EXISTS', key('payload', id))
    table.insert(events, { id, has_payload, '[' .. table.concat(tasks, ',') .. ']', unpack(values) })
    if #events == asked.limit then
      edge = rows[n + 1]
      break
    end
  end
end
return { edge, events }
