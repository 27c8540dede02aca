-- Remembers how far a step has come, while the token holds.
-- Asked: `id`, `route`, `token`, `name`, `state`, `result`.
local event, task = held(asked.id, asked.route, asked.token)
if not task then
  return answer('lost')
end
local field, found = 'steps:' .. asked.route, nil
local steps = list_of(event, field)
for _, step in ipairs(steps) do
  if step.run == task.run and step.name == asked.name then
    found = step
  end
end
if not found then
  found = { run = task.run, name = asked.name }
  table.insert(steps, found)
end
found.state, found.result = asked.state, asked.result
keep_list(event, field, steps)
return answer('done')
