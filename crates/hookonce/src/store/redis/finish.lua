-- claimed → completed, pending or dead, while the token holds; writes the attempt down and passes the lane
-- on.
-- Asked: `id`, `route`, `token`, `state`, `outcome`, `after` (pending), `holds` (dead), `error`, `forget`
-- (what was only begun).
local event, task = held(asked.id, asked.route, asked.token)
if not task then
  return answer('lost')
end
local route = asked.route
write_attempt(event, route, task, asked.outcome, asked.error)
take_out(event, route, task)
task.state, task.error = asked.state, asked.error
give_up(task)
if asked.state == 'pending' then
  task.due = now + asked.after
else
  task.finished = now
  task.due = asked.holds and task.lane and now or nil
  count(event.source, asked.state, 1)
end
put_in(event, route, task)
if asked.forget then
  forget_begun(event, route, task.run)
end
if asked.state == 'pending' then
  keep(event)
else
  settle(event)
end
pass_lane(task.lane)
return answer('done')
