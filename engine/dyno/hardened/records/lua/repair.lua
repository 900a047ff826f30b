-- Gives messages the record that another server has, where this server still has the record that was seen.
-- Own ARGV: now; then for each change id, record seen ('' for none), new record, payload ('' for none).
-- Returns 1. Atomic on one server.
-- A tombstone is as old here as the version says, in whatever zone and whenever it is copied: if copying made it young
-- again, zones that forgot it at different times would copy it to one another for ever.
local now = ARGV[first]
for at = first + 1, #ARGV, 4 do
  local id, seen, new, payload = unpack(ARGV, at, at + 3)
  local raw = redis.call('HGET', records, id)
  if (raw or '') == seen then
    if raw then unlist(id, parsed(raw)) end
    local record = parsed(new)
    if record.status == 'd' then
      bury(id, record, record.ends % removed_base)
    else
      if payload ~= '' then redis.call('HSET', payloads, id, payload) end
      if record.status == 'l' then
        redis.call('ZADD', sets[record.shard].leased, record.ends, id)
      elseif record.status == 'x' then
        redis.call('ZADD', dead, now, id)
      else
        redis.call('ZADD', sets[record.shard].waiting, record.score, id)
      end
      redis.call('HSET', records, id, new)
    end
  end
end
return 1
