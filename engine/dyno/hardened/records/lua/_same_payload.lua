-- Between _records and lease, where payloads are compared: who leases has read a payload in one zone, and on a server
-- that keeps another one under this id, what was read is not here.
-- Own ARGV after those of lease: for each id, in the same order, the SHA-1 of the payload that was read.
local digests, asked = {}, (#ARGV - first - 3) / 2
for _ = 1, asked do
  local digest = table.remove(ARGV)
  digests[ARGV[#ARGV - asked + 1]] = digest
end

local record_of_id = record_of
local function record_of(id)
  local payload = redis.call('HGET', payloads, id)
  if payload and redis.sha1hex(payload) ~= digests[id] then return nil end
  return record_of_id(id)
end
