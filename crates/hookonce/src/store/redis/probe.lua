-- Writes something and tells of it, so that a server that takes no writes, or lets nobody be told, is found
-- out.
redis.call('ZADD', key('probe'), now, '')
redis.call('DEL', key('probe'))
redis.call('HSET', key('probe'), '', '')
redis.call('PEXPIRE', key('probe'), 60000)
redis.call('PUBLISH', scope:match('^[^{]*') .. 'probe', scope)
return 'done'
