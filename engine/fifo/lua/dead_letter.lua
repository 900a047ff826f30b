-- List the message ARGV[1] in KEYS[1] from ARGV[2] ms on, by the zone's own clock. KEYS[2] counts the messages.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local number = redis.call('INCR', KEYS[2])
redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), string.format('%.0f', number) .. ' ' .. ARGV[1])
return number
