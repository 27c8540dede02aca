-- Takes a lapsed claim over: new token and epoch, same attempt. Without a worker: whoever reaps
-- runs nothing, so that no attempt is written down for it.
update hookonce_tasks
set token = :token,
  worker = null,
  epoch = epoch + 1,
  lease_until = :lease_until,
  claimed_at = :now
where seq = :seq
  and route = :route
  and state = 'claimed'
  and lease_until <= :now
