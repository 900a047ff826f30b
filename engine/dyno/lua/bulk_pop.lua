-- Leases those of the given ids that are due, up to a number of them.
-- KEYS[1] payload hash; then for each shard its waiting set and its lease set.
-- ARGV[1] most to lease, ARGV[2] highest eligible score, ARGV[3] end of the lease in ms; then the ids, in order.
-- Returns {number of the shard, id, payload, ...}. An id that is not due, leased or without payload is passed over.
-- Atomic on one server: every id is moved whole or not at all. Replicas that differ move different ids.
local count, eligible, lease_end = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local leased = {}

local function lease(id)
  local payload = redis.call('HGET', KEYS[1], id)
  if not payload then return end
  for key = 2, #KEYS, 2 do
    local score = redis.call('ZSCORE', KEYS[key], id)
    if score and tonumber(score) <= eligible and redis.call('ZADD', KEYS[key + 1], 'NX', lease_end, id) == 1 then
      redis.call('ZREM', KEYS[key], id)
      for _, value in ipairs({key / 2, id, payload}) do leased[#leased + 1] = value end
      return
    end
  end
end

for position = 4, #ARGV do
  if #leased >= 3 * count then break end
  lease(ARGV[position])
end
return leased
