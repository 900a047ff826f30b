-- The member ARGV[1] is alive. KEYS[1]: the members, KEYS[2]: how often they changed. 1 if it is new.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local new = redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
if new == 1 then redis.call('HINCRBY', KEYS[2], 'changes', 1) end
return new
