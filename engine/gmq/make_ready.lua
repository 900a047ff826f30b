-- Put the id ARGV[1] at the head of the list KEYS[1] and give its job KEYS[2] the status ARGV[2]; 0 if the job is gone
-- or ready already, or if it was delivered more often than ARGV[3], which is given with an attempt that is not the first.
local status, consumed = unpack(redis.call('HMGET', KEYS[2], 'status', 'consume_num'))
if not status or status == ARGV[2] or ARGV[3] and tonumber(consumed or 0) > tonumber(ARGV[3]) then
    return 0
end
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'status', ARGV[2])
return 1
