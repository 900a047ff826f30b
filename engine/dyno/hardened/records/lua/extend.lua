-- Moves the ends of leases.
-- Own ARGV: 1 if tokens are compared, else 0; then for each delivery id, token, end of its lease, new end.
-- Returns for each 1, or 0 if the lease is not the delivery's any more.
-- Atomic on one server. As with ack, a server that missed the lease takes the holder's word; one without the message
-- does not.
local compared = ARGV[first] == '1'

local function answer(id, token, ends, new_ends)
  local record = record_of(id)
  if not record or record.status == 'd' or record.status == 'x' then return 0 end
  if compared and record.token ~= token and tonumber(record.ends) > tonumber(ends) then return 0 end
  if tonumber(new_ends) > tonumber(record.ends) then
    unlist(id, record)
    record.status, record.token, record.ends = 'l', token, new_ends
    redis.call('ZADD', sets[record.shard].leased, new_ends, id)
    keep(id, record)
  end
  return 1
end

local answers = {}
for at = first + 1, #ARGV, 4 do
  answers[#answers + 1] = answer(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
return answers
