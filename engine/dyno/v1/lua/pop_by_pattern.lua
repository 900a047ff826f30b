-- Leases the first due message whose stored JSON matches a pattern.
-- KEYS[1] payload hash; then for each shard its waiting set and its lease set.
-- ARGV[1] Lua pattern, ARGV[2] highest eligible score, ARGV[3] end of the lease in ms.
-- Returns {number of the shard, id, payload}, or nothing. Leased ids and ids without payload are passed over.
-- Atomic on one server. Replicas that differ may lease different messages. Reads every due id in the worst case.
local PAGE = 100
local best_key, best_id, best_payload, best_score

local function look(key)
  local offset = 0
  while true do
    local page = redis.call('ZRANGEBYSCORE', KEYS[key], 0, ARGV[2], 'WITHSCORES', 'LIMIT', offset, PAGE)
    for position = 1, #page, 2 do
      local id, score = page[position], tonumber(page[position + 1])
      if best_score and score >= best_score then return end
      local payload = redis.call('HGET', KEYS[1], id)
      if payload and string.find(payload, ARGV[1]) and not redis.call('ZSCORE', KEYS[key + 1], id) then
        best_key, best_id, best_payload, best_score = key, id, payload, score
        return
      end
    end
    if #page < 2 * PAGE then return end
    offset = offset + PAGE
  end
end

for key = 2, #KEYS, 2 do look(key) end
if not best_id then return {} end
redis.call('ZADD', KEYS[best_key + 1], 'NX', ARGV[3], best_id)
redis.call('ZREM', KEYS[best_key], best_id)
return {best_key / 2, best_id, best_payload}
