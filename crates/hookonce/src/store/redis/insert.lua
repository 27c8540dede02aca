-- Stores each event unless its id is known, with its tasks: due now, unless its lane has a head or it is
-- dead on arrival. Of one that is known notes the arrival. Answers a letter an event: n, d or m.
-- Asked: `events` in the order in which they came, `too_old`. After it, of each: what never changes of it,
-- and its payload.
local KEPT, APART = 3, 40

-- Leaves few enough rows of arrivals: the oldest two that are alike become one.
local function folded(arrivals)
  local first = {}
  for n = 1, #arrivals > APART and #arrivals or 0 do
    local row = arrivals[n]
    local same = not row.element and (row.mismatch and 1 or 2)
    if same and first[same] then
      local other = arrivals[first[same]]
      row.n, row.at = row.n + other.n, math.max(row.at, other.at)
      table.remove(arrivals, first[same])
      return arrivals
    elseif same then
      first[same] = n
    end
  end
  return arrivals
end

-- Payloads are written at the end, too.
local payloads = {}

-- Writes what was gathered.
local function flush()
  in_parts(payloads, function(...) redis.call('MSET', ...) end)
  for set, rows in pairs(gathered) do
    in_parts(rows, function(...) redis.call('ZADD', set, ...) end)
  end
  payloads, gathered = {}, {}
end

local function note_arrival(new, digest, payload)
  -- It may be in what was gathered.
  flush()
  local event = event_of(new.id)
  local arrivals = list_of(event, 'arrivals')
  local row = { at = now, n = 1 }
  if digest ~= new.digest then
    row.mismatch = true
    local kept = 0
    for _, other in ipairs(arrivals) do
      kept = kept + (other.element and 1 or 0)
    end
    if kept < KEPT then
      row.element = payload:sub(new.from, new.to)
    end
  end
  table.insert(arrivals, row)
  keep_list(event, 'arrivals', folded(arrivals))
  settle(event)
  return row.mismatch
end

-- Events of this call that were new.
local stored = {}

-- Leaves nothing of them, as far as that can be done.
local function undo()
  for event, tasks in pairs(stored) do
    for _, task in ipairs(tasks) do
      local name = name_of(event, task.route)
      redis.pcall('ZREM', key('due', queue_of(event, task.route)), name)
      local lane = task.ordered and event.lane and lane_of(event, task.route)
      if lane then
        redis.pcall('ZREM', key('lane', lane), name)
        if redis.pcall('HGET', key('heads'), lane) == event.seq then
          redis.pcall('HDEL', key('heads'), lane)
        end
      end
    end
    for _, set in ipairs({ key('ids'), key('dead'), key('old', 'payload'), key('old', 'dead'), key('old', 'key') }) do
      redis.pcall('ZREM', set, event.id)
    end
    redis.pcall('DEL', key('event', event.id), key('payload', event.id))
  end
end

local function store(new, about, payload)
  local routes = {}
  for n, task in ipairs(new.tasks) do
    routes[n] = task.route
  end
  local event = {
    id = new.id, seq = new.seq, source = new.source, priority = new.priority, lane = new.lane, routes = routes,
    open = 0, dead = 0, last = new.received, changed = { 'about', about, 'digest', new.digest },
  }
  stored[event] = new.tasks
  local reason = new.unreadable or (is_too_old(event, new.sent) and asked.too_old) or nil
  for _, task in ipairs(new.tasks) do
    make_task(event, task, reason)
  end
  if #new.tasks == 0 then
    count(new.source, 'unrouted', 1)
  end
  add(key('ids'), new.seq, new.id)
  if event.open > 0 then
    table.insert(payloads, key('payload', new.id))
    table.insert(payloads, payload)
  else
    -- Its age counts from now, which the payload is told.
    redis.call('SET', key('payload', new.id), payload)
  end
  settle(event, new.received)
end

-- Whether any of them is known; hardly ever one is.
local function are_known()
  local keys = {}
  for n, new in ipairs(asked.events) do
    keys[n] = key('event', new.id)
  end
  return in_parts(keys, function(...) return redis.call('EXISTS', ...) end) > 0
end

-- Numbers of arrival are the time in µs, so that they need no counter that all scopes share; and go up,
-- whatever the clock does.
local last = redis.call('ZREVRANGE', key('ids'), 0, 0, 'WITHSCORES')[2]
local first = math.max(now * 1000, (tonumber(last or nil) or 0) + 1)
local letters, seen, any_known = {}, {}, are_known()

local function take_in()
  for n, new in ipairs(asked.events) do
    local about, payload = ARGV[3 + 2 * n], ARGV[4 + 2 * n]
    new.seq = string.format('%016d', first + n - 1)
    local may_be_known = any_known or seen[new.id]
    local digest = may_be_known and redis.call('HGET', key('event', new.id), 'digest')
    seen[new.id] = true
    if not digest then
      store(new, about, payload)
      count(new.source, 'new', 1)
      letters[n] = 'n'
    elseif note_arrival(new, digest, payload) then
      count(new.source, 'mismatch', 1)
      letters[n] = 'm'
    else
      count(new.source, 'duplicate', 1)
      letters[n] = 'd'
    end
  end
end

-- Whatever fails, no event is left that nothing would find, and none that is not there is found.
gathered = {}
local is_done, failure = pcall(function()
  take_in()
  flush()
end)
if not is_done then
  undo()
  -- The server's own words begin with one in capitals.
  local text = type(failure) == 'table' and failure.err or tostring(failure)
  return redis.error_reply(text:match('^%u+ ') and text or 'ERR ' .. text)
end
return answer(table.concat(letters))
