-- Events and their tasks, and what finds them. A task is JSON in its event's hash; what finds it (a queue,
-- a lane, a lease, a count) follows from it, so that it is taken out before a change and put in after it.

-- An event is a hash: `about` (what never changes, and people read), `state` (what the scripts need),
-- `digest`, and what there is of each task.

-- What is needed of an event; none where it is unknown. Its number of arrival, `seq`, is text of 16 digits:
-- of a number fewer are written.
local function event_of(id)
  local text = redis.call('HGET', key('event', id), 'state')
  if not text then
    return nil
  end
  local event = cjson.decode(text)
  event.dead = event.dead or 0
  event.id, event.had_dead, event.changed = id, event.dead > 0, {}
  return event
end

-- What of an event never changes.
local function about(id)
  return cjson.decode(redis.call('HGET', key('event', id), 'about'))
end

-- Has a field of the event written when it is kept.
local function change(event, field, text)
  table.insert(event.changed, field)
  table.insert(event.changed, text)
end

-- Writes what was changed of the event, at once.
local function keep(event)
  redis.call('HSET', key('event', event.id), unpack(event.changed))
  event.changed = {}
end

local function task_of(event, route)
  local text = redis.call('HGET', key('event', event.id), 'task:' .. route)
  local task = text and cjson.decode(text)
  if task then
    -- A new one is kept without them.
    task.attempt, task.run, task.epoch = task.attempt or 0, task.run or 1, task.epoch or 0
  end
  return task or nil
end

-- The name of a task: in the order of its event's arrival.
local function name_of(event, route)
  return event.seq .. ':' .. event.id .. ':' .. route
end

-- The event's id and the route that a name is made of.
local function parts_of(name)
  return name:sub(18, 49), name:sub(51)
end

-- The queue in which a task waits for its time.
local queues, listed = {}, {}
local function queue_of(event, route)
  local parts = event.priority .. route .. '\255' .. event.source
  queues[parts] = queues[parts] or cjson.encode({ event.priority, route, event.source })
  return queues[parts]
end

-- Adds to a sorted set; at the end, with all else for it, where a script gathers.
local gathered
local function add(set, score, member)
  if gathered then
    gathered[set] = gathered[set] or {}
    table.insert(gathered[set], score)
    table.insert(gathered[set], member)
  else
    redis.call('ZADD', set, score, member)
  end
end

-- A lane's head is claimed or may be, or is dead and holds the lane.
local function is_head(task)
  return task.lane and (task.state == 'claimed' or task.due)
end

-- What may still run, or holds its lane, keeps its event from being pruned.
local function is_open(task)
  return task.state == 'pending' or task.state == 'claimed' or task.due
end

local function take_out(event, route, task)
  local name = name_of(event, route)
  if task.state == 'pending' and task.due then
    local queue = queue_of(event, route)
    redis.call('ZREM', key('due', queue), name)
    if redis.call('EXISTS', key('due', queue)) == 0 then
      redis.call('SREM', key('queues'), queue)
      listed[queue] = nil
    end
  elseif task.state == 'pending' then
    redis.call('ZREM', key('lane', task.lane), name)
  elseif task.state == 'claimed' then
    redis.call('ZREM', key('leases'), name)
  end
  if is_head(task) then
    redis.call('HDEL', key('heads'), task.lane)
  end
  if task.state ~= 'completed' then
    count_live(task.state, route, -1)
  end
  event.open = event.open - (is_open(task) and 1 or 0)
  event.dead = event.dead - (task.state == 'dead' and 1 or 0)
end

-- The event is to be kept after it. `leads`: it is known to be its lane's head already.
local function put_in(event, route, task, leads)
  local name = name_of(event, route)
  change(event, 'task:' .. route, cjson.encode(task))
  if task.state == 'pending' and task.due then
    local queue = queue_of(event, route)
    add(key('due', queue), task.due, name)
    if not listed[queue] then
      redis.call('SADD', key('queues'), queue)
      listed[queue] = true
    end
    due = due or task.due <= now
  elseif task.state == 'pending' then
    add(key('lane', task.lane), event.seq, name)
  elseif task.state == 'claimed' then
    redis.call('ZADD', key('leases'), task.lease, name)
  end
  if is_head(task) and not leads then
    redis.call('HSET', key('heads'), task.lane, event.seq)
  end
  if task.state ~= 'completed' then
    count_live(task.state, route, 1)
  end
  event.open = event.open + (is_open(task) and 1 or 0)
  event.dead = event.dead + (task.state == 'dead' and 1 or 0)
end

local function has_head(lane)
  return lane and redis.call('HEXISTS', key('heads'), lane) == 1
end

-- Makes the task that waits next in a lane its head, if the lane has no other.
local function pass_lane(lane)
  if not lane or has_head(lane) then
    return
  end
  local name = redis.call('ZRANGE', key('lane', lane), 0, 0)[1]
  if name then
    local id, route = parts_of(name)
    local event = event_of(id)
    local task = task_of(event, route)
    take_out(event, route, task)
    task.due = now
    put_in(event, route, task)
    keep(event)
  end
end

-- Lets an event's age count from now where nothing of it may still run, and keeps it from being pruned
-- where something may; writes what was changed. A payload that no janitor comes for goes by itself.
local function settle(event, at)
  event.last = math.max(event.last, at or now)
  local payload, before, old = key('payload', event.id), event.old, nil
  if event.open == 0 then
    if redis.call('EXISTS', payload) == 0 then
      old = 'key'
    else
      old = event.dead > 0 and 'dead' or 'payload'
    end
  end
  if before and before ~= old then
    redis.call('ZREM', key('old', before), event.id)
  end
  if event.dead > 0 then
    redis.call('ZADD', key('dead'), event.seq, event.id)
  elseif event.had_dead then
    redis.call('ZREM', key('dead'), event.id)
  end
  if old then
    redis.call('ZADD', key('old', old), event.last, event.id)
    local kept = redis.call('HGET', key('retention'), old)
    if kept and old ~= 'key' then
      redis.call('PEXPIRE', payload, kept)
    end
  elseif before then
    redis.call('PERSIST', payload)
  end
  event.old = old
  change(event, 'state', cjson.encode({
    seq = event.seq, source = event.source, priority = event.priority,
    lane = event.lane, routes = event.routes, open = event.open, dead = event.dead > 0 and event.dead or nil, last = event.last,
    old = old,
  }))
  keep(event)
end

-- A list that is kept in an event's hash.
local function list_of(event, field)
  local text = redis.call('HGET', key('event', event.id), field)
  return text and cjson.decode(text) or {}
end

local function keep_list(event, field, list)
  if #list == 0 then
    redis.call('HDEL', key('event', event.id), field)
  else
    redis.call('HSET', key('event', event.id), field, cjson.encode(list))
  end
end

-- Forgets the steps of a task's run that were only begun; of every run where none is named.
local function forget_begun(event, route, run)
  local field, kept = 'steps:' .. route, {}
  local steps = list_of(event, field)
  for _, step in ipairs(steps) do
    if step.state ~= 'begun' or (run and step.run ~= run) then
      table.insert(kept, step)
    end
  end
  if #kept < #steps then
    keep_list(event, field, kept)
  end
end

-- Writes down the attempt that a claim stands for, just before the claim is given up; not for whoever
-- only takes a lapsed claim to its end.
local function write_attempt(event, route, task, outcome, error)
  if not task.worker then
    return
  end
  local field = 'attempts:' .. route
  local attempts = list_of(event, field)
  table.insert(attempts, {
    epoch = task.epoch, run = task.run, attempt = task.attempt, worker = task.worker,
    started = task.claimed, ended = now, outcome = outcome, error = error,
  })
  keep_list(event, field, attempts)
  if outcome == 'retry' or outcome == 'lapsed' or outcome == 'released' then
    task.failed = task.epoch
  end
end

-- The task that a token proves a claim to, with its event; none where it doesn't hold.
local function held(id, route, token)
  local event = event_of(id)
  local task = event and task_of(event, route)
  if task and task.state == 'claimed' and task.token == token then
    return event, task
  end
end

local function give_up(task)
  task.token, task.lease, task.claimed, task.worker = nil, nil, nil, nil
end

-- A claimed task as its worker reads it.
local function claimed(event, route, with_payload)
  local values = redis.call(
    'HMGET', key('event', event.id), 'about', 'state', 'task:' .. route, 'steps:' .. route
  )
  local payload = with_payload and redis.call('GET', key('payload', event.id))
  return { event.id, route, payload, unpack(values) }
end

-- The lane of an event's task, named by what it is made of; neither name has a line break.
local function lane_of(event, route)
  return route .. '\n' .. event.source .. '\n' .. event.lane
end

-- Makes a task of the event: dead for a reason, or due now, unless its lane has a head.
local function make_task(event, wanted, reason)
  local lane = wanted.ordered and event.lane and lane_of(event, wanted.route) or nil
  local task = { max = wanted.max, lane = lane }
  local leads = false
  if reason then
    task.state, task.error, task.finished = 'dead', reason, now
    count(event.source, 'dead', 1)
  else
    leads = lane and redis.call('HSETNX', key('heads'), lane, event.seq) == 1
    task.state, task.due = 'pending', (leads or not lane) and now or nil
  end
  put_in(event, wanted.route, task, leads)
end

-- Whether a sender's time is one up to which keys were removed, so that what has it can't be proven new.
local pruned_until
local function is_too_old(event, sent)
  pruned_until = pruned_until or tonumber(redis.call('GET', key('until')) or '-inf')
  return sent and event.priority ~= 2 and sent <= pruned_until
end

-- Notes that the event has a task of a route, in place of another's where one is named.
local function note_route(event, route, instead)
  local routes = {}
  for _, other in ipairs(event.routes) do
    if other ~= instead then
      table.insert(routes, other)
    end
  end
  table.insert(routes, route)
  event.routes = routes
end
