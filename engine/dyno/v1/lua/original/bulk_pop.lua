-- Leases those of the given ids that are due, with the defects of the original's scripts of the bulk pops.
-- KEYS[1] payload hash; then for each shard its waiting set and its lease set.
-- ARGV[1] most to lease, ARGV[2] highest eligible score, ARGV[3] end of the lease in ms; then the ids, in order.
-- Returns {ids tried, then for each leased one: number of its shard, id, payload}; none as soon as an id is in no waiting
-- set.
-- Atomic on one server. Replicas that differ move different ids.
-- Defects: scores are compared as text; a lease that exists already counts as taken, because 0 is true in Lua; the ids
-- moved before an unknown one stay moved although nothing is returned.
local count = tonumber(ARGV[1])
local leased, tried = {}, 0

for position = 4, #ARGV do
  if #leased >= 3 * count then break end
  tried = tried + 1
  local id, known = ARGV[position], false
  for key = 2, #KEYS, 2 do
    local score = redis.call('ZSCORE', KEYS[key], id)
    if score then
      known = true
      local payload = redis.call('HGET', KEYS[1], id)
      if score <= ARGV[2] and payload and redis.call('ZADD', KEYS[key + 1], 'NX', ARGV[3], id) then
        redis.call('ZREM', KEYS[key], id)
        for _, value in ipairs({key / 2, id, payload}) do leased[#leased + 1] = value end
        break
      end
    end
  end
  if not known then return {tried} end
end
table.insert(leased, 1, tried)
return leased
