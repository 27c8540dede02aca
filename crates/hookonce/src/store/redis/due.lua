-- Gives what is due: of each queue of these routes the oldest; and how many tasks this token has claimed.
-- Writes nothing.
-- Asked: `token`, `routes` with how many of each.
local limits, queues = {}, {}
for _, route in ipairs(asked.routes) do
  limits[route.name] = route.limit
end
for _, queue in ipairs(redis.call('SMEMBERS', key('queues'))) do
  local limit = limits[cjson.decode(queue)[2]]
  if limit then
    local set = key('due', queue)
    local tasks = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
    if #tasks > 0 then
      table.insert(queues, { queue, tasks })
    end
  end
end
return { redis.call('SCARD', key('claims', asked.token)), queues }
