-- Gives the claims that a token proves; writes nothing.
-- Asked: `token`, `tasks` by id and route.
local claims = {}
for _, wanted in ipairs(asked.tasks) do
  local event = held(wanted.id, wanted.route, asked.token)
  if event then
    table.insert(claims, claimed(event, wanted.route, true))
  end
end
return claims
