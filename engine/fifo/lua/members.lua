-- The members KEYS[1] in the order of their names. Every ARGV[2] ms those that were silent for more than ARGV[1] ms are
-- removed first, which does not count as a change in KEYS[2]: nobody is told of it.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local scanned = redis.call('HGET', KEYS[2], 'scanned_ms')
if not scanned or now - tonumber(scanned) >= tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[2], 'scanned_ms', string.format('%.0f', now))
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now - tonumber(ARGV[1])))
end
local members = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(members)
return members
