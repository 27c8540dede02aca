-- pending → claimed: raises attempt and epoch; the token proves the claim from here on. What this token
-- has claimed already is given again, and nothing else.
-- Asked: `token`, `worker`, `takes`: for each task that is wanted its queue, of which it is the oldest that
-- is due when its turn comes, and its lease. Answers the claimed ones.
local claims = {}
local names = redis.call('SMEMBERS', key('claims', asked.token))
table.sort(names)
for _, name in ipairs(names) do
  local id, route = parts_of(name)
  local event = held(id, route, asked.token)
  if event then
    table.insert(claims, claimed(event, route, true))
  end
end
local kept = 60000
for _, take in ipairs(#names == 0 and asked.takes or {}) do
  -- For as long as it may be asked again whether anything was claimed.
  kept = math.max(kept, take.lease)
  local name = oldest(key('due', take.queue), now, 1)[1]
  if name then
    local id, route = parts_of(name)
    local event = event_of(id)
    local task = event and task_of(event, route)
    if task then
      take_out(event, route, task)
      task.state, task.token, task.worker = 'claimed', asked.token, asked.worker
      task.attempt, task.epoch = task.attempt + 1, task.epoch + 1
      task.due, task.lease, task.claimed = nil, now + take.lease, now
      put_in(event, route, task)
      keep(event)
      redis.call('SADD', key('claims', asked.token), name)
      table.insert(claims, claimed(event, route, true))
    else
      -- It would be in everybody's way for good.
      redis.call('ZREM', key('due', take.queue), name)
    end
  end
end
redis.call('PEXPIRE', key('claims', asked.token), kept)
finish()
return claims
