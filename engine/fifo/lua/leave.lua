-- The member ARGV[1] of KEYS[1] is gone. KEYS[2]: how often the members changed. 1 if it was one.
local gone = redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], 'topics:' .. ARGV[1])
if gone == 1 then redis.call('HINCRBY', KEYS[2], 'changes', 1) end
return gone
