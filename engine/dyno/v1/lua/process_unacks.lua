-- Requeues those of the given ids whose lease has ended, and removes the leases of those without payload.
-- KEYS[1] payload hash, KEYS[2] waiting set, KEYS[3] lease set.
-- ARGV[1] now in ms; then the ids.
-- Returns {number requeued, number without payload}. A lease that was extended or ended meanwhile is left alone.
-- Atomic on one server; a replica decides by the leases that it has.
-- A requeued message is due at the end of its lease and keeps its priority. In the stored JSON the priority's name can
-- stand before a colon only as a name of a field: inside a text its closing quote is escaped.
local now = tonumber(ARGV[1])
local requeued, stale = 0, 0

local function due(payload, lease_end)
  local priority = tonumber(string.match(payload, '"priority":(%d+)') or 0)
  return string.format('%.17g', math.floor(lease_end) + priority / 100)
end

for position = 2, #ARGV do
  local id = ARGV[position]
  local lease_end = tonumber(redis.call('ZSCORE', KEYS[3], id))
  if lease_end and lease_end <= now then
    local payload = redis.call('HGET', KEYS[1], id)
    if payload then
      redis.call('ZADD', KEYS[2], due(payload, lease_end), id)
      requeued = requeued + 1
    else
      stale = stale + 1
    end
    redis.call('ZREM', KEYS[3], id)
  end
end
return {requeued, stale}
