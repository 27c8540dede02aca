-- Adds the minutes of a day that is long past to the days; the days before it are.
-- Asked: `apart`, how many days are kept by minute, and about how many minutes are added at once, `limit`.
-- Answers whether there are no more.
local today = math.floor(now / 86400000)
local days = redis.call('SMEMBERS', key('days'))
for _, day in ipairs(days) do
  if tonumber(day) < today - asked.apart then
    -- Where many are gone already there may be long stretches of nothing.
    local cursor, minutes = '0', {}
    repeat
      cursor, minutes = unpack(redis.call('HSCAN', key('minutes', day), cursor, 'COUNT', asked.limit))
    until #minutes > 0 or cursor == '0'
    for n = 1, #minutes, 2 do
      redis.call('HINCRBY', key('minutes', 'folded'), day .. minutes[n]:match(':.*'), minutes[n + 1])
      redis.call('HDEL', key('minutes', day), minutes[n])
    end
    if redis.call('EXISTS', key('minutes', day)) == 0 then
      redis.call('SREM', key('days'), day)
    end
    return answer('more')
  end
end
return answer('done')
