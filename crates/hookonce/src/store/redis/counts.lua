-- Gives what is counted, the live tasks by state and route, and when the oldest task that may be claimed
-- became due; writes nothing.
local first
for _, queue in ipairs(redis.call('SMEMBERS', key('queues'))) do
  local at = tonumber(redis.call('ZRANGE', key('due', queue), 0, 0, 'WITHSCORES')[2])
  first = math.min(first or at, at)
end
return { first or '', redis.call('HGETALL', key('totals')), redis.call('HGETALL', key('live')) }
