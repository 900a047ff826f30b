-- Removes a message wherever it is, with the defect of the original's script.
-- KEYS[1] payload hash; then for each shard its waiting set and its lease set.
-- ARGV[1] id.
-- Returns 1 if it was in exactly one waiting set, in exactly one lease set or had a payload, else the number of leases.
-- Atomic on one server; each replica removes what it has.
-- Defect: an id in two waiting sets and nowhere else counts as not found, although it is removed.
local waiting, leased = 0, 0
for key = 2, #KEYS, 2 do
  waiting = waiting + redis.call('ZREM', KEYS[key], ARGV[1])
  leased = leased + redis.call('ZREM', KEYS[key + 1], ARGV[1])
end
local payloads = redis.call('HDEL', KEYS[1], ARGV[1])
if waiting == 1 or leased == 1 or payloads == 1 then return 1 end
return leased
