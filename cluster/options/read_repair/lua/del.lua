if version('._add-set', '._rem-set', KEYS[1]) > tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', '._rem-set', ARGV[1], KEYS[1])
redis.call('ZREM', '._add-set', KEYS[1])
redis.call('DEL', '._add-set_' .. KEYS[1], '._rem-set_' .. KEYS[1])
return redis.call('DEL', KEYS[1])
