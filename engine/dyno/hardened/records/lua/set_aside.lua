-- Makes messages dead letters, or takes them out of the queue for good.
-- Own ARGV: now, x or d; then ids.
-- Returns for each id 1 if it was alive here, or a dead letter that is taken out, else 0. Atomic on one server.
-- What is taken out can be leased by nobody any more, so its tombstone is newer than any lease, by removed_base.
local now, status = ARGV[first], ARGV[first + 1]
local answers = {}
for at = first + 2, #ARGV do
  local id = ARGV[at]
  local record = record_of(id)
  local alive = record and (record.status == 'w' or record.status == 'l')
  local there = alive or (status == 'd' and record and record.status == 'x')
  answers[#answers + 1] = there and 1 or 0
  if status == 'd' and not (record and record.status == 'd') then
    if record then unlist(id, record) end
    record = record or {shard = '-', score = 0, rank = 0, tries = 0}
    record.ends, record.token = string.format('%.0f', removed_base + now), '-'
    bury(id, record, now)
  elseif status == 'x' and alive then
    unlist(id, record)
    record.status = 'x'
    redis.call('ZADD', dead, now, id)
    keep(id, record)
  end
end
return answers
