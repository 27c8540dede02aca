-- Keeps rows in place of those that were there. KEYS: their hash. ARGV: names and values.
redis.call('DEL', KEYS[1])
if #ARGV > 0 then
  redis.call('HSET', KEYS[1], unpack(ARGV))
end
return 'done'
