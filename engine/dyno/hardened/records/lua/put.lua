-- Lists new messages; what this server knows already, alive or acknowledged, stays as it is.
-- Own ARGV: 1 if known ids are left alone, else 0; then for each message id, payload, shard, score, rank, and 1 if it
-- is due now, else 0.
-- Returns for each message "shard score" of the record that this server now has.
-- Atomic on one server. A put that arrives again, or late, changes nothing.
local told = {}
for at = first + 1, #ARGV, 6 do
  local id, payload, shard, score, rank, due = unpack(ARGV, at, at + 5)
  local known = record_of(id)
  if known and ARGV[first] == '1' then
    told[#told + 1] = known.shard .. ' ' .. known.score
  else
    if known then unlist(id, known) end
    redis.call('HSET', payloads, id, payload)
    redis.call('ZADD', due == '1' and sets[shard].ready or sets[shard].waiting, due == '1' and rank or score, id)
    keep(id, {status = 'w', shard = shard, score = score, rank = rank, tries = 0, ends = 0, token = '-'})
    told[#told + 1] = shard .. ' ' .. score
  end
end
return told
