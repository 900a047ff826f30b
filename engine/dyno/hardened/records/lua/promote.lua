-- Makes ready what has fallen due, and what was leased until a lease that has ended.
-- Own ARGV: shard, highest due score, latest end of a lease that has ended, most of each, and what a priority weighs
-- in a rank (0: ranks are scores).
-- Returns 1. Atomic on one server.
-- An id that V1 listed has no record: it gets one if it has a payload, and is dropped if not.
local of, due, ended, most = sets[ARGV[first]], ARGV[first + 1], ARGV[first + 2], ARGV[first + 3]
local weight = tonumber(ARGV[first + 4])

local function adopted(id, score)
  if redis.call('HEXISTS', payloads, id) == 0 then return nil end
  local due_ms, rank = math.floor(score), score
  if weight > 0 then rank = string.format('%.0f', math.floor((score - due_ms) * 100 + 0.5) * weight + due_ms) end
  return {status = 'w', shard = ARGV[first], score = score, rank = rank, tries = 0, ends = 0, token = '-'}
end

local function ready(from, until_score)
  local found = redis.call('ZRANGEBYSCORE', from, 0, until_score, 'WITHSCORES', 'LIMIT', 0, most)
  for at = 1, #found, 2 do
    local id = found[at]
    local record = record_of(id) or adopted(id, found[at + 1])
    redis.call('ZREM', from, id)
    if record then
      record.status = 'w'
      redis.call('ZADD', of.ready, record.rank, id)
      keep(id, record)
    end
  end
end

ready(of.waiting, due)
ready(of.leased, ended)
return 1
