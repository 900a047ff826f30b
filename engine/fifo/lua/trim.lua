-- Drop the records of the log KEYS[1] that are more than ARGV[1] behind the slowest group, and the producers of KEYS[3]
-- whose last record is among them. KEYS[4]: where each group began, KEYS[2]: how far those are that said so since.
-- How many records were dropped; none if there is no group.
local slowest
local function heard(text)
  local offset = tonumber(string.match(text, '^%d+'))
  if not slowest or offset < slowest then slowest = offset end
end
for _, progress in ipairs(redis.call('HVALS', KEYS[2])) do heard(progress) end
local began = redis.call('HGETALL', KEYS[4])
for i = 1, #began, 2 do
  if redis.call('HEXISTS', KEYS[2], began[i]) == 0 then heard(began[i + 1]) end
end
if not slowest then return 0 end
local kept = slowest - tonumber(ARGV[1])
local producers = redis.call('HGETALL', KEYS[3])
for i = 1, #producers, 2 do
  local offset = tonumber(string.match(producers[i + 1], ' (%d+)$'))
  if offset and offset < kept then redis.call('HDEL', KEYS[3], producers[i]) end
end
return redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', kept))
