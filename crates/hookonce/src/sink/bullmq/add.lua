-- Adds a job that a worker of BullMQ 6.7 takes, unless the queue knows one of this id: waiting, active,
-- failed, or completed and still kept. Gives 1 if it was added, 0 if it was there.
--
-- KEYS  the queue's `wait`, `active`, `meta`, `id`, `events` and `marker`, and the job's own key
-- ARGV  the job's id, its name, its data and its options, both as JSON
local wait, active, meta, counter, events, marker, job = unpack(KEYS)
local id, name, data, opts = unpack(ARGV)

-- Who listens to the queue's events is told, in a stream that is kept as long as the queue says.
local length = redis.call('hget', meta, 'opts.maxLenEvents') or 10000
local function tell(event, ...)
  redis.pcall('xadd', events, 'maxlen', '~', length, '*', 'event', event, 'jobId', id, ...)
end

if redis.call('exists', job) == 1 then
  tell('duplicated')
  return 0
end

local now = redis.call('time')
local at = string.format('%d%03d', now[1], math.floor(now[2] / 1000))
redis.call(
  'hset', job, 'name', name, 'data', data, 'opts', opts, 'timestamp', at, 'delay', 0, 'priority', 0
)
-- What is refused half way leaves what was written: a job that is in no list would be taken for added
-- when it comes again.
local waits = redis.pcall('lpush', wait, id)
if type(waits) == 'table' then
  redis.call('del', job)
  return waits
end
-- It is added, whatever becomes of the rest. The queue's own count of jobs ever added, from which those
-- without an id of their own get theirs:
redis.pcall('incr', counter)
tell('added', 'name', name)
-- Workers that have nothing to do wait for the marker. A queue that is paused or has as many jobs
-- active as it may needs none: who changes that sets it.
local states = redis.call('hmget', meta, 'paused', 'concurrency')
local is_full = states[2] and redis.call('llen', active) >= tonumber(states[2])
if not states[1] and not is_full then
  redis.pcall('zadd', marker, 0, '0')
end
tell('waiting')
return 1
