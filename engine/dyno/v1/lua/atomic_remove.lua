-- Removes a message wherever it is.
-- KEYS[1] payload hash; then every waiting set and every lease set.
-- ARGV[1] id.
-- Returns 1 if there was anything to remove, else 0.
-- Atomic on one server; each replica removes what it has.
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
for key = 2, #KEYS do removed = removed + redis.call('ZREM', KEYS[key], ARGV[1]) end
return removed > 0 and 1 or 0
