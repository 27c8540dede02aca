-- Writes down who does what, once for each call. KEYS: the list. ARGV: the entry, which no other is equal to.
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], 'NX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
return 'done'
