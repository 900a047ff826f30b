-- Drop the records of the log KEYS[1] that are more than ARGV[1] behind the slowest group of KEYS[2], and the producers
-- of KEYS[3] whose last record is among them. How many records were dropped; none if there is no group.
local slowest
for _, cursor in ipairs(redis.call('HVALS', KEYS[2])) do
  local offset = tonumber(cursor)
  if not slowest or offset < slowest then slowest = offset end
end
if not slowest then return 0 end
local kept = slowest - tonumber(ARGV[1])
local producers = redis.call('HGETALL', KEYS[3])
for i = 1, #producers, 2 do
  local offset = tonumber(string.match(producers[i + 1], ' (%d+)$'))
  if offset < kept then redis.call('HDEL', KEYS[3], producers[i]) end
end
return redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', kept))
