-- Put the id ARGV[2] into the bucket KEYS[1], due at second ARGV[1], and give its job KEYS[2] the status ARGV[3]; 0 if
-- the job is gone.
if redis.call('EXISTS', KEYS[2]) == 0 then
    return 0
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], 'status', ARGV[3])
return 1
