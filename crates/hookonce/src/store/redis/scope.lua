-- What every script begins with: the names of a scope's keys, the time, and what a call leaves behind.
-- KEYS: the scope's own key, which holds what tells this data from any other, and one that is never there. ARGV: the call's token (none
-- where nothing is written), what the scope's key must hold, the time in ms (none: the server's), and then
-- what is asked for.
local scope, call = KEYS[1], ARGV[1]
if redis.call('GET', scope) ~= ARGV[2] then
  return redis.error_reply('EMPTIED the data of ' .. scope .. ' is not what it was')
end

local function key(what, which)
  return which and scope .. ':' .. what .. ':' .. which or scope .. ':' .. what
end

-- A reply may be lost on its way, and the call made again: it gets the same answer and writes nothing.
if call ~= '' then
  local said = redis.call('GET', key('call', call))
  if said then
    return said
  end
end

local now = tonumber(ARGV[3])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local asked = cjson.decode(ARGV[4])
local counted, lived, due = {}, {}, false

-- Adds to what is counted by minute and source.
local function count(source, what, n)
  local field = what .. ':' .. source
  counted[field] = (counted[field] or 0) + n
end

-- Adds to how many tasks of a route are in a state.
local function count_live(state, route, n)
  local field = state .. ':' .. route
  lived[field] = (lived[field] or 0) + n
end

-- Writes what was counted, and tells workers of what is due; every script that changes a task ends so.
local function finish()
  for field, n in pairs(lived) do
    if n ~= 0 then
      redis.call('HINCRBY', key('live'), field, n)
    end
  end
  local minute = math.floor(now / 60000)
  local day = math.floor(minute / 1440)
  for field, n in pairs(counted) do
    if n ~= 0 then
      redis.call('HINCRBY', key('totals'), field, n)
      redis.call('HINCRBY', key('minutes', day), minute .. ':' .. field, n)
      redis.call('SADD', key('days'), day)
    end
  end
  if due then
    -- Nothing depends on it, and all else is written by now.
    redis.pcall('PUBLISH', scope:match('^[^{]*') .. 'due', scope)
  end
end

-- Finishes, and keeps the answer for when it is asked again.
local function answer(text)
  finish()
  redis.call('SET', key('call', call), text, 'PX', 60000)
  return text
end

-- The oldest of a sorted set up to a score.
local function oldest(set, score, limit)
  return redis.call('ZRANGEBYSCORE', set, '-inf', score, 'LIMIT', 0, limit)
end

-- Calls a function with many arguments, some at a time; gives the sum of what it answers.
local function in_parts(arguments, ask)
  local sum = 0
  for n = 1, #arguments, 4000 do
    local said = ask(unpack(arguments, n, math.min(n + 3999, #arguments)))
    sum = sum + (tonumber(said) or 0)
  end
  return sum
end
