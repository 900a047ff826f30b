-- Lists those of the given ids as waiting whose lease has ended, and removes their leases.
-- KEYS[1] waiting set, KEYS[2] lease set of one bucket; both carry the shard's hash tag, so they are on one node.
-- ARGV[1] now in ms; then id and score, in turn.
-- Returns how many. A lease that was ended, extended or taken anew since it was read is left alone.
-- Atomic on one server; a replica decides by the leases that it has.
local now = tonumber(ARGV[1])
local requeued = 0
for position = 2, #ARGV, 2 do
  local id, score = ARGV[position], ARGV[position + 1]
  local lease_end = tonumber(redis.call('ZSCORE', KEYS[2], id))
  if lease_end and lease_end <= now then
    redis.call('ZADD', KEYS[1], score, id)
    redis.call('ZREM', KEYS[2], id)
    requeued = requeued + 1
  end
end
return requeued
