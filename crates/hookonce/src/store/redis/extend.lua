-- Lets a claim end later, while its token holds and its lease has not ended.
-- Asked: `id`, `route`, `token`, `lease`.
local event, task = held(asked.id, asked.route, asked.token)
if not task or task.lease <= now then
  return answer('lost')
end
take_out(event, asked.route, task)
task.lease = now + asked.lease
put_in(event, asked.route, task)
keep(event)
return answer('done')
