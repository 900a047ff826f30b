-- Leases those of the given candidates that are due, up to a number of them.
-- KEYS[1] payload hash; then for each shard its waiting set and its lease set.
-- ARGV[1] most to lease, ARGV[2] highest eligible score, ARGV[3] end of the lease in ms; then for each candidate, in
-- order, the number of its shard and its id.
-- Returns {candidates tried, then for each leased one: number of its shard, id, payload}. What is not due, leased or
-- without payload is passed over.
-- Atomic on one server: every id is moved whole or not at all. Replicas that differ move different ids.
local count, eligible, lease_end = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local leased, tried = {}, 0

local function lease(number, id)
  local waiting, unacked = KEYS[2 * number], KEYS[2 * number + 1]
  local score = redis.call('ZSCORE', waiting, id)
  local payload = redis.call('HGET', KEYS[1], id)
  if not score or tonumber(score) > eligible or not payload then return end
  if redis.call('ZADD', unacked, 'NX', lease_end, id) == 1 then
    redis.call('ZREM', waiting, id)
    for _, value in ipairs({number, id, payload}) do leased[#leased + 1] = value end
  end
end

for position = 4, #ARGV, 2 do
  if #leased >= 3 * count then break end
  tried = tried + 1
  lease(tonumber(ARGV[position]), ARGV[position + 1])
end
table.insert(leased, 1, tried)
return leased
