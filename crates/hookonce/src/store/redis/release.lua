-- claimed → pending, due after a while, while the token holds: this attempt doesn't count. Of one that ran
-- the last such end is written down.
-- Asked: `id`, `route`, `token`, `after`, `error`, `ran`.
local event, task = held(asked.id, asked.route, asked.token)
if not task then
  return answer('lost')
end
local route = asked.route
if asked.ran then
  local field, kept = 'attempts:' .. route, {}
  for _, other in ipairs(list_of(event, field)) do
    local is_this = other.run == task.run and other.attempt == task.attempt
    if not is_this or other.outcome ~= 'released' then
      table.insert(kept, other)
    end
  end
  keep_list(event, field, kept)
  write_attempt(event, route, task, 'released', asked.error)
end
take_out(event, route, task)
task.state, task.attempt, task.due = 'pending', task.attempt - 1, now + asked.after
task.error = asked.error or task.error
give_up(task)
put_in(event, route, task)
keep(event)
forget_begun(event, route, task.run)
return answer('done')
