local function weight(name, version) return tonumber(string.sub(redis.sha1hex(name .. '@' .. version), 1, 12), 16) end
local function record(at, name, old, new)
  local sum = tonumber(redis.call('HGET', '._digests', at) or '0')
  if old then sum = sum - weight(name, old) end
  if new then
    sum = sum + weight(name, new)
    redis.call('HSET', at, name, new)
  else
    redis.call('HDEL', at, name)
  end
  redis.call('HSET', '._digests', at, string.format('%.0f', sum % 281474976710656))
end
local function kind_of(key) return redis.call('TYPE', key).ok end
local LETTER = {hash = 'h', set = 's', zset = 'z'}
local REMOVE = {h = 'HDEL', s = 'SREM', z = 'ZREM'}
local function members(key, letter)
  if letter == 'h' then return redis.call('HKEYS', key) end
  if letter == 's' then return redis.call('SMEMBERS', key) end
  return redis.call('ZRANGE', key, 0, -1)
end
local function clear(at, key, version)
  local letter, left = LETTER[kind_of(key)], 0
  for _, member in ipairs(letter and members(key, letter) or {}) do
    local name = id(letter, key, member)
    local stored, its = known(at, name)
    if its > version then
      left = left + 1
    else
      redis.call(REMOVE[letter], key, member)
      if stored then record(at, name, stored, nil) end
    end
  end
  return left
end
local function set(at, key, version, stored, value, options)
  local name, number = id('k', key, ''), tonumber(version)
  if clear(at, key, number) > 0 then
    record(at, name, stored, '-' .. version)
  else
    redis.call('SET', key, value, unpack(options))
    record(at, name, stored, version)
  end
end
local function remove(at, key, version, stored)
  local there = redis.call('EXISTS', key)
  if clear(at, key, tonumber(version)) == 0 then redis.call('DEL', key) end
  record(at, id('k', key, ''), stored, '-' .. version)
  return there
end
