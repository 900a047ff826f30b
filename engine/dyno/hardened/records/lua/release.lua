-- Gives leases back: the messages are ready again. The end of the lease stays in the record, so a newer one is newer.
-- Own ARGV: 1 if the messages were delivered, 0 if nobody won the leases; then for each lease id, token.
-- Returns 1. Atomic on one server. A lease that is not the token's any more stays.
for at = first + 1, #ARGV, 2 do
  local id = ARGV[at]
  local record = record_of(id)
  if record and record.status == 'l' and record.token == ARGV[at + 1] then
    unlist(id, record)
    record.status = 'w'
    if ARGV[first] == '0' then record.tries = record.tries - 1 end
    redis.call('ZADD', sets[record.shard].ready, record.rank, id)
    keep(id, record)
  end
end
return 1
