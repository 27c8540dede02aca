-- Deletes payloads, and then whole events without payload, that are older than their retention; remembers
-- up to which sender's time keys were removed.
-- Asked: `payload`, `dead`, `key` (in ms), `limit`. Answers the payloads, the events, and whether there is
-- more.
local limit = asked.limit
local payloads, events, renewing = 0, 0, false

-- A payload goes by itself when it is as old as was to be when its event ended: one that is to stay longer
-- now is told so, some at a time, those of the oldest events first.
local function renew(old)
  local retention, from_field = key('retention'), 'from:' .. old
  local before = tonumber(redis.call('HGET', retention, old) or nil)
  redis.call('HSET', retention, old, asked[old])
  if before and before < asked[old] then
    redis.call('HSET', retention, from_field, '-inf ')
  end
  local from = redis.call('HGET', retention, from_field)
  if not from then
    return
  end
  -- The last that was told: its age and its id, unless its age is another by now.
  local set, score, id = key('old', old), from:match('^(%S+) (.*)$')
  local told = redis.call('ZCOUNT', set, '-inf', '(' .. score)
  if redis.call('ZSCORE', set, id) == score then
    told = redis.call('ZRANK', set, id) + 1
  end
  local rows = redis.call('ZRANGE', set, told, told + limit - 1, 'WITHSCORES')
  for n = 1, #rows, 2 do
    redis.call('PEXPIRE', key('payload', rows[n]), rows[n + 1] + asked[old] - now)
  end
  if #rows < 2 * limit then
    redis.call('HDEL', retention, from_field)
  else
    redis.call('HSET', retention, from_field, rows[#rows] .. ' ' .. rows[#rows - 1])
    renewing = true
  end
end

for _, old in ipairs({ 'payload', 'dead' }) do
  renew(old)
  for _, id in ipairs(oldest(key('old', old), '(' .. (now - asked[old]), limit - payloads)) do
    redis.call('DEL', key('payload', id))
    settle(event_of(id), 0)
    payloads = payloads + 1
  end
end

local function delete(event)
  for _, route in ipairs(event.routes) do
    take_out(event, route, task_of(event, route))
  end
  redis.call('ZREM', key('old', 'key'), event.id)
  redis.call('ZREM', key('dead'), event.id)
  redis.call('ZREM', key('ids'), event.id)
  redis.call('DEL', key('event', event.id), key('payload', event.id))
end

local before = now - asked.key
local looked = oldest(key('old', 'key'), '(' .. before, limit)
for _, id in ipairs(looked) do
  local event = event_of(id)
  local sent = about(id).sent
  if sent and sent >= before then
    -- It can't be proven old when it comes again: its key stays until that date is as old.
    redis.call('ZADD', key('old', 'key'), sent, id)
  else
    delete(event)
    local until_now = tonumber(redis.call('GET', key('until')) or nil)
    if sent and event.priority ~= 2 and not (until_now and until_now >= sent) then
      redis.call('SET', key('until'), string.format('%d', sent))
    end
    events = events + 1
  end
end
local more = payloads >= limit or #looked >= limit or renewing
return answer(payloads .. ' ' .. events .. ' ' .. (more and 1 or 0))
