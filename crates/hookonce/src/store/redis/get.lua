-- Gives an event with all that is known of it; writes nothing.
-- Asked: `id`.
local fields = redis.call('HGETALL', key('event', asked.id))
return { redis.call('GET', key('payload', asked.id)), fields }
