-- Requeues the given ids, and removes the leases of those without payload, with the defects of the original's script.
-- KEYS[1] payload hash, KEYS[2] waiting set, KEYS[3] lease set.
-- ARGV[1] not used; then for each id the id and the end of its lease as it was read.
-- Returns {number requeued, number without payload}.
-- Atomic on one server, from the ids that were read before.
-- Defects: whether the lease still is there and has ended is not looked at again; the priority is lost.
local requeued, stale = 0, 0
for position = 2, #ARGV, 2 do
  local id, lease_end = ARGV[position], ARGV[position + 1]
  if redis.call('HEXISTS', KEYS[1], id) == 1 then
    redis.call('ZADD', KEYS[2], lease_end, id)
    requeued = requeued + 1
  else
    stale = stale + 1
  end
  redis.call('ZREM', KEYS[3], id)
end
return {requeued, stale}
