-- Removes tombstones that are old enough.
-- Own ARGV: latest time of an ack to forget, most of them.
-- Returns 1. Atomic on one server.
local old = redis.call('ZRANGEBYSCORE', tombstones, 0, ARGV[first], 'LIMIT', 0, ARGV[first + 1])
for _, id in ipairs(old) do
  redis.call('ZREM', tombstones, id)
  redis.call('HDEL', records, id)
end
return 1
