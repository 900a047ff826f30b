-- Give the job KEYS[1] the status ARGV[1], count one delivery, and return the values of its fields ARGV[2] and on, as
-- they were but for the status; nil if the job is gone.
if redis.call('EXISTS', KEYS[1]) == 0 then
    return false
end
redis.call('HSET', KEYS[1], 'status', ARGV[1])
local values = redis.call('HMGET', KEYS[1], unpack(ARGV, 2))
redis.call('HINCRBY', KEYS[1], 'consume_num', 1)
return values
