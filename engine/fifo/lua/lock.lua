-- Give the lock KEYS[1] to ARGV[1] if nobody has it, if it has it itself, or if the last renewal was more than ARGV[2] ms
-- ago; it counts as renewed now. 1 if it was given. The time is the zone's own and is not told: zones would differ.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lock = redis.call('HMGET', KEYS[1], 'owner', 'renewed_ms')
if lock[1] and lock[1] ~= ARGV[1] and now - tonumber(lock[2]) <= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'renewed_ms', string.format('%.0f', now))
return 1
