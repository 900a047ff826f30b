-- Takes or renews the lease of a zone on a shard.
-- KEYS[1] hash of these leases. ARGV: shard, zone, now, margin, end, 1 if the shard is the zone's own, else 0.
-- Returns 1, or 0 if another zone serves the shard. Atomic on one server. The own zone is never refused.
local raw = redis.call('HGET', KEYS[1], ARGV[1])
if raw and ARGV[6] == '0' then
  local zone, ends = string.match(raw, '(%S+) (%S+)')
  if zone ~= ARGV[2] and tonumber(ends) + tonumber(ARGV[4]) >= tonumber(ARGV[3]) then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[5])
return 1
