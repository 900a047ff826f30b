local removed = redis.call('ZSCORE', KEYS[1], ARGV[2])
if removed and tonumber(removed) <= tonumber(ARGV[1]) then return redis.call('ZREM', KEYS[1], ARGV[2]) end
return 0
