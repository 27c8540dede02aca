-- Gives what a scope's own key holds, which is written where there is none. Where data was there and is
-- gone, what the sender dates before now can't be proven new any more.
-- KEYS: the scope's own key. ARGV: what to write, whether data is known to have been there, the time in ms
-- (none: the server's).
local scope = KEYS[1]
local held = redis.call('GET', scope)
if held then
  return held
end
redis.call('SET', scope, ARGV[1])
if ARGV[2] == '1' then
  local now = ARGV[3]
  if now == '' then
    local time = redis.call('TIME')
    now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
  end
  redis.call('SET', scope .. ':until', now)
end
return ARGV[1]
