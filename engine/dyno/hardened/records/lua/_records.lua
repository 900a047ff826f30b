-- What every script begins with: the keys, and the record of one message on this server.
-- KEYS[1] payload hash, [2] record hash, [3] tombstones, [4] dead letters; then for each shard its waiting, its ready
-- and its lease set. ARGV[1] number of shards, then their names; what follows is the script's own.
-- A record is "status shard score rank tries ends token". Status: w waiting or ready, l leased, d acknowledged, x dead.
local payloads, records, tombstones, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- The version of a message that was removed is removed_base plus the time; a lease's is the end of the lease.
local removed_base = 2 ^ 52
local sets, first = {}, tonumber(ARGV[1]) + 2
for position = 2, first - 1 do
  local key = 3 * position - 1
  sets[ARGV[position]] = {waiting = KEYS[key], ready = KEYS[key + 1], leased = KEYS[key + 2]}
end

local function parsed(raw)
  local record = {}
  record.status, record.shard, record.score, record.rank, record.tries, record.ends, record.token =
    string.match(raw, '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
  return record
end

local function record_of(id)
  local raw = redis.call('HGET', records, id)
  return raw and parsed(raw)
end

local function keep(id, record)
  local raw = table.concat(
    {record.status, record.shard, record.score, record.rank, record.tries, record.ends, record.token}, ' ')
  redis.call('HSET', records, id, raw)
end

local function unlist(id, record)
  local of = sets[record.shard]
  if record.status == 'w' then
    if redis.call('ZREM', of.ready, id) == 0 then redis.call('ZREM', of.waiting, id) end
  elseif record.status == 'l' then
    redis.call('ZREM', of.leased, id)
  else
    redis.call('ZREM', record.status == 'd' and tombstones or dead, id)
  end
end

local function bury(id, record, now)
  record.status = 'd'
  redis.call('HDEL', payloads, id)
  redis.call('ZADD', tombstones, now, id)
  keep(id, record)
end
