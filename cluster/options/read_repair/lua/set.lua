if version('._add-set', '._rem-set', KEYS[1]) > tonumber(ARGV[1]) then return -1 end
redis.call('ZADD', '._add-set', ARGV[1], KEYS[1])
redis.call('ZREM', '._rem-set', KEYS[1])
return redis.call('SET', KEYS[1], ARGV[2])
