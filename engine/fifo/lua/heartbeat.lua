-- The member ARGV[1], which subscribes to ARGV[2], is alive. KEYS[1]: the members; KEYS[2]: how often they, or what they
-- subscribe to, changed. 1 if it is new.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local new = redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
local field = 'topics:' .. ARGV[1]
local known = redis.call('HGET', KEYS[2], field)
if known ~= ARGV[2] then redis.call('HSET', KEYS[2], field, ARGV[2]) end
if new == 1 or known ~= ARGV[2] then redis.call('HINCRBY', KEYS[2], 'changes', 1) end
return new
