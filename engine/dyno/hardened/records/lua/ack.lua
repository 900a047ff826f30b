-- Buries messages: their tombstones say that they were acknowledged.
-- Own ARGV: now, 1 if tokens are compared, else 0, 1 if tombstones are kept, else 0; then for each delivery id, token,
-- end of its lease.
-- Returns for each 1, or 0 if the message was leased again since, or acknowledged by another delivery.
-- Atomic on one server. A server that missed the message or the lease takes the holder's word: a newer lease than the
-- holder's would have a later end.
local now, compared, kept = ARGV[first], ARGV[first + 1] == '1', ARGV[first + 2] == '1'

local function answer(id, token, ends)
  local record = record_of(id)
  if not record then
    bury(id, {shard = '-', score = 0, rank = 0, tries = 0, ends = ends, token = token}, now)
    return 1
  end
  if record.status == 'x' then return 0 end
  if compared and record.token ~= token and tonumber(record.ends) > tonumber(ends) then return 0 end
  if record.status == 'd' then
    if compared and record.token ~= token and record.ends == ends then return 0 end
    if record.token == token then return 1 end
  else
    unlist(id, record)
  end
  record.token = token
  if tonumber(ends) > tonumber(record.ends) then record.ends = ends end
  bury(id, record, now)
  return 1
end

local answers = {}
for at = first + 3, #ARGV, 3 do
  answers[#answers + 1] = answer(ARGV[at], ARGV[at + 1], ARGV[at + 2])
  if not kept and answers[#answers] == 1 then
    redis.call('ZREM', tombstones, ARGV[at])
    redis.call('HDEL', records, ARGV[at])
  end
end
return answers
