-- Put the id ARGV[1] back at the tail of the list KEYS[1], where it is next, out of the buckets KEYS[3] and on; its job
-- KEYS[2] gets the status ARGV[2] and was consumed ARGV[3] times. 0 if the job is gone.
if redis.call('EXISTS', KEYS[2]) == 0 then
    return 0
end
for bucket = 3, #KEYS do
    redis.call('ZREM', KEYS[bucket], ARGV[1])
end
redis.call('HSET', KEYS[2], 'status', ARGV[2], 'consume_num', ARGV[3])
redis.call('RPUSH', KEYS[1], ARGV[1])
return 1
