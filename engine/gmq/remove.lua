-- Delete the job KEYS[1] of the id ARGV[1], and what lists it: the list KEYS[2] and the buckets KEYS[3] and on. 0 if it
-- was not there.
for bucket = 3, #KEYS do
    redis.call('ZREM', KEYS[bucket], ARGV[1])
end
redis.call('LREM', KEYS[2], 0, ARGV[1])
return redis.call('DEL', KEYS[1])
