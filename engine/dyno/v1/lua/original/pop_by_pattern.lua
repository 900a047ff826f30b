-- Leases the first due message whose stored JSON matches a pattern, with the defect of the original's script.
-- KEYS[1] payload hash; then for each shard its waiting set and its lease set.
-- ARGV[1] Lua pattern, ARGV[2] highest eligible score, ARGV[3] end of the lease in ms.
-- Returns {number of the shard, id, payload}, or nothing. Ids without payload are passed over.
-- Atomic on one server. Replicas that differ may lease different messages. Reads every due id in the worst case.
-- Defect: a lease that exists already counts as taken, because 0 is true in Lua.
local best_key, best_id, best_payload, best_score
local open = {}
for key = 2, #KEYS, 2 do open[key] = true end

local rank, reading = 0, true
while reading do
  reading = false
  for key = 2, #KEYS, 2 do
    local entry = open[key] and redis.call('ZRANGE', KEYS[key], rank, rank, 'WITHSCORES') or {}
    local id, score = entry[1], tonumber(entry[2])
    if not id or score > tonumber(ARGV[2]) or (best_score and score >= best_score) then
      open[key] = false
    else
      reading = true
      local payload = redis.call('HGET', KEYS[1], id)
      if payload and string.find(payload, ARGV[1]) then
        best_key, best_id, best_payload, best_score = key, id, payload, score
      end
    end
  end
  rank = rank + 1
end

if best_id and redis.call('ZADD', KEYS[best_key + 1], 'NX', ARGV[3], best_id) then
  redis.call('ZREM', KEYS[best_key], best_id)
  return {best_key / 2, best_id, best_payload}
end
return {}
