-- Grants leases on ready messages.
-- Own ARGV: now, margin, end of the leases, their token; then ids.
-- Returns for each id: G granted, L leased by another (or a newer lease was given before), A no record here,
-- D acknowledged, X dead letter, W not due yet.
-- Atomic on one server. A lease that arrives again is granted again; one that arrives late is refused if a newer one
-- was given meanwhile, since its end would not lie after that one's.
local now, margin, ends, token = tonumber(ARGV[first]), tonumber(ARGV[first + 1]), ARGV[first + 2], ARGV[first + 3]

local function answer(id)
  local record = record_of(id)
  if not record then return 'A' end
  if record.status == 'd' then return 'D' end
  if record.status == 'x' then return 'X' end
  if record.status == 'l' and record.token == token then return 'G' end
  if record.status == 'l' and tonumber(record.ends) + margin >= now then return 'L' end
  if tonumber(ends) <= tonumber(record.ends) then return 'L' end
  if tonumber(record.score) > now + 1 then return 'W' end
  unlist(id, record)
  record.status, record.ends, record.token, record.tries = 'l', ends, token, record.tries + 1
  redis.call('ZADD', sets[record.shard].leased, ends, id)
  keep(id, record)
  return 'G'
end

local answers = {}
for at = first + 4, #ARGV do answers[#answers + 1] = answer(ARGV[at]) end
return answers
