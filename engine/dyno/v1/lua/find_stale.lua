-- Tells which of the given ids wait although they have no payload.
-- KEYS[1] payload hash, KEYS[2] waiting set, KEYS[3] lease set.
-- ARGV the ids.
-- Returns those that are in the waiting set, not leased, and without payload.
-- Atomic on one server; changes nothing.
local stale = {}
for _, id in ipairs(ARGV) do
  local waiting = redis.call('ZSCORE', KEYS[2], id) and not redis.call('ZSCORE', KEYS[3], id)
  if waiting and redis.call('HEXISTS', KEYS[1], id) == 0 then stale[#stale + 1] = id end
end
return stale
