-- Put the id ARGV[2] into the bucket KEYS[1], due at second ARGV[1], unless its job KEYS[2] is gone. ARGV[3]: its new
-- status. 1 if the bucket did not list it before; as in the original the status changes only then.
if redis.call('EXISTS', KEYS[2]) == 0 then
    return 0
end
if redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2]) == 1 then
    redis.call('HSET', KEYS[2], 'status', ARGV[3])
    return 1
end
return 0
