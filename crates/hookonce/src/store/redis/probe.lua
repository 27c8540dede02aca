-- Writes something and tells of it, so that a server that takes no writes, or lets nobody be told, is found
-- out.
redis.call('SET', key('probe'), '', 'PX', 60000)
redis.call('PUBLISH', scope:match('^[^{]*') .. 'probe', scope)
return 'done'
