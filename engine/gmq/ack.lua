-- Delete the job KEYS[1] of the id ARGV[1], and its entries in the buckets KEYS[2] and on, if it is in flight: of status
-- ARGV[2], or of status ARGV[3] and popped before. 1 if it was.
local found = redis.call('HMGET', KEYS[1], 'status', 'consume_num')
local popped = tonumber(found[2] or '0') > 0
if found[1] ~= ARGV[2] and not (found[1] == ARGV[3] and popped) then
    return 0
end
for bucket = 2, #KEYS do
    redis.call('ZREM', KEYS[bucket], ARGV[1])
end
return redis.call('DEL', KEYS[1])
