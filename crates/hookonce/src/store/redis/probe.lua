-- Writes something and tells of it, so that a server that takes no writes, or lets nobody be told, is found
-- out. First what needs memory, which a script is refused for by what it does first.
redis.call('ZADD', key('probe', 'set'), now, '')
redis.call('HSET', key('probe', 'hash'), '', '')
redis.call('PEXPIRE', key('probe', 'set'), 60000)
redis.call('PEXPIRE', key('probe', 'hash'), 60000)
redis.call('PUBLISH', scope:match('^[^{]*') .. 'probe', scope)
return 'done'
