-- Tells which of the given ids look stale, as the original's script.
-- KEYS[1] payload hash, KEYS[2] waiting set, KEYS[3] lease set.
-- ARGV the ids.
-- Returns those that are not leased and do not have both a payload and a place in the waiting set.
-- Atomic on one server; changes nothing.
-- Defect: a message that was consumed since the ids were read is reported.
local stale = {}
for _, id in ipairs(ARGV) do
  local whole = redis.call('HEXISTS', KEYS[1], id) == 1 and redis.call('ZSCORE', KEYS[2], id)
  if not whole and not redis.call('ZSCORE', KEYS[3], id) then stale[#stale + 1] = id end
end
return stale
