-- Lists messages whose ids this server does not know, alive or acknowledged.
-- Own ARGV: for each message id, payload, shard, score, rank, and 1 if it is due now, else 0.
-- Returns 1 for each message that is listed now, 0 for one that was known.
-- Atomic on one server. A put that arrives again, or late, changes nothing.
local told = {}
for at = first, #ARGV, 6 do
  local id, payload, shard, score, rank, due = unpack(ARGV, at, at + 5)
  if record_of(id) then
    told[#told + 1] = 0
  else
    redis.call('HSET', payloads, id, payload)
    redis.call('ZADD', due == '1' and sets[shard].ready or sets[shard].waiting, due == '1' and rank or score, id)
    keep(id, {status = 'w', shard = shard, score = score, rank = rank, tries = 0, ends = 0, token = '-'})
    told[#told + 1] = 1
  end
end
return told
