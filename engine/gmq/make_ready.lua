-- Put the id ARGV[1] at the head of the list KEYS[1] and give its job KEYS[2] the status ARGV[2]; 0 if the job is gone
-- or ready already.
local status = redis.call('HGET', KEYS[2], 'status')
if not status or status == ARGV[2] then
    return 0
end
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'status', ARGV[2])
return 1
