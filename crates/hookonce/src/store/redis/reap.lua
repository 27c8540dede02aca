-- Takes lapsed claims over: new token and epoch, same attempt, which is written down as lapsed. Without a
-- worker: whoever reaps runs nothing. What this token has taken over already is given again.
-- Asked: `token`, `lease`, `limit`, `error`.
local claims = {}
local names = redis.call('SMEMBERS', key('claims', asked.token))
table.sort(names)
if #names == 0 then
  names = oldest(key('leases'), now, asked.limit)
end
for _, name in ipairs(names) do
  local id, route = parts_of(name)
  local event = event_of(id)
  local task = event and task_of(event, route)
  local has = task and task.state == 'claimed' and task.token == asked.token
  if not has and task and task.state == 'claimed' and task.lease <= now then
    write_attempt(event, route, task, 'lapsed', asked.error)
    take_out(event, route, task)
    task.token, task.worker, task.epoch = asked.token, nil, task.epoch + 1
    task.lease, task.claimed = now + asked.lease, now
    put_in(event, route, task)
    keep(event)
    redis.call('SADD', key('claims', asked.token), name)
    has = true
  end
  if has then
    table.insert(claims, claimed(event, route, false))
  end
end
redis.call('PEXPIRE', key('claims', asked.token), math.max(60000, asked.lease))
finish()
return claims
