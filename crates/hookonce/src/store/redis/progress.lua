-- Says of each event how many of its tasks may still run, and a number that rises with each attempt that
-- ends without success and without being the last; nothing of one that is unknown. Writes nothing.
-- Asked: `events` by id.
local progress = {}
for _, id in ipairs(asked.events) do
  local event, open, failures = event_of(id), 0, 0
  for _, route in ipairs(event and event.routes or {}) do
    local task = task_of(event, route)
    if task.state == 'pending' or task.state == 'claimed' then
      open = open + 1
    end
    failures = failures + (task.failed or 0)
  end
  table.insert(progress, event and { open, failures } or false)
end
return progress
