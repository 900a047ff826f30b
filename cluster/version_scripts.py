"""The Lua that keeps versions beside the data: writes that lose against a newer one, and the comparing of zones.

Every server has records of what was written to it: for a key as a whole (letter k: it was SET, or removed) and for each
member of a hash (h), set (s) or sorted set (z). A record is a field of one of 256 hashes ``._versions:00`` to ``ff``,
chosen by the SHA-1 of the key; its value is the version, negative if that removed it. ``._digests`` has a sum over the
records of each of the 256, kept up to date by every write, by which zones are compared: a hash tree of two levels
(Merkle's, as in section 4.7 of DeCandia et al., Dynamo, SOSP 2007).

A removal of a key, and a SET, is a removal of every member that is older. What is left is the same in whichever order
writes arrive: for every member the newest write to it, unless the key was removed later than that.
"""

PLACE = "._versions:"

_NAMES = """
local function place(key) return '._versions:' .. string.sub(redis.sha1hex(key), 1, 2) end
local function id(letter, key, member) return letter .. #key .. ':' .. key .. member end
local function known(at, name)
  local stored = redis.call('HGET', at, name)
  return stored, stored and math.abs(tonumber(stored)) or 0
end
local function digits(number) return string.format('%.0f', number) end
"""

_RECORDS = (
    _NAMES
    + """
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
"""
)

SET = (
    _RECORDS
    + """
local newest = 0
for index = 1, #KEYS do
  local key = KEYS[index]
  local at = place(key)
  local stored, its = known(at, id('k', key, ''))
  newest = math.max(newest, its)
  if its <= tonumber(ARGV[1]) then set(at, key, ARGV[1], stored, ARGV[1 + index], {unpack(ARGV, 2 + #KEYS)}) end
end
return {'OK', digits(newest)}
"""
)
"""KEYS: one or more keys. ARGV: version, a value for each, options of SET for all of them."""

DEL = (
    _RECORDS
    + """
local newest, there = 0, 0
for _, key in ipairs(KEYS) do
  local at = place(key)
  local stored, its = known(at, id('k', key, ''))
  newest = math.max(newest, its)
  if its <= tonumber(ARGV[1]) then there = there + remove(at, key, ARGV[1], stored) end
end
return {there, digits(newest)}
"""
)
"""KEYS: one or more keys. ARGV: version. Answers how many were there, and the newest version that it met."""

MEMBERS = (
    _RECORDS
    + """
local key, version = KEYS[1], tonumber(ARGV[1])
local letter, size, offset, removes = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local kind = kind_of(key)
if kind ~= 'none' and LETTER[kind] ~= letter then
  return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end
local at = place(key)
local _, newest = known(at, id('k', key, ''))
local removed, taken, names, count = newest, {}, {}, 0
for first = 7, #ARGV, size do
  local name = id(letter, key, ARGV[first + offset])
  local _, its = known(at, name)
  newest = math.max(newest, its)
  if its <= version and removed <= version then
    names[#names + 1] = name
    for word = first, first + size - 1 do taken[#taken + 1] = ARGV[word] end
  end
end
for first = 1, #taken, 1000 do
  local told = redis.call(ARGV[2], key, unpack(taken, first, math.min(first + 999, #taken)))
  count = count + (type(told) == 'number' and told or 0)
end
for _, name in ipairs(names) do record(at, name, known(at, name), removes and '-' .. ARGV[1] or ARGV[1]) end
return {ARGV[2] == 'HMSET' and 'OK' or count, digits(newest)}
"""
)
"""KEYS: the collection. ARGV: version, command, letter, size of an item, where in it the member is, 1 if it removes,
items."""

READ = (
    _NAMES
    + """
local key, letter = KEYS[1], ARGV[2]
local value = redis.call(ARGV[1], key, unpack(ARGV, 3))
local at = place(key)
local whole, its = known(at, id('k', key, ''))
if letter == 'k' then return {whole or '0', value, redis.call('PTTL', key)} end
local member, own = known(at, id(letter, key, ARGV[3]))
if own > its then return {member, value} end
return {whole and '-' .. digits(its) or '0', value}
"""
)
"""KEYS: the key. ARGV: command, letter, and the member if there is one.

Answers the version and the value, and of a whole key also in how many ms it expires."""

_EXCHANGE = (
    _RECORDS
    + """
local COMMAND = {k = 'GET', h = 'HGET', z = 'ZSCORE'}
local function parsed(name)
  local letter, size = string.match(name, '^(%a)(%d+):')
  local begin = 2 + #size + 1
  return letter, string.sub(name, begin, begin + size - 1), string.sub(name, begin + size)
end
local function value_of(letter, key, member)
  local kind = kind_of(key)
  if letter == 'k' then return kind == 'string' and redis.call('GET', key) end
  if LETTER[kind] ~= letter then return false end
  if letter == 's' then return redis.call('SISMEMBER', key, member) == 1 and '' end
  return redis.call(COMMAND[letter], key, member)
end
local function behind(at, name, letter, key, version, removed, horizon)
  if removed and version < horizon then return false end
  local stored, its = known(at, name)
  if its > version or (its == version and (not removed or string.sub(stored, 1, 1) == '-')) then return false end
  if letter == 'k' then return true, stored end
  local _, whole = known(at, id('k', key, ''))
  return whole < version, stored
end
"""
)

SUMS = "return redis.call('HGETALL', '._digests')"
"""A script, since HGETALL itself is answered in another form where the connection speaks RESP3."""

LIST = (
    _EXCHANGE
    + """
local at, horizon = ARGV[1], tonumber(ARGV[2])
local found = redis.call('HSCAN', at, ARGV[3], 'COUNT', ARGV[4])
local listed = {}
for index = 1, #found[2], 2 do
  local name, stored = found[2][index], found[2][index + 1]
  local letter, key, member = parsed(name)
  local version = math.abs(tonumber(stored))
  local covered = false
  if letter ~= 'k' then
    local _, whole = known(at, id('k', key, ''))
    covered = whole >= version
  end
  if covered or (version < horizon and not value_of(letter, key, member)) then
    record(at, name, stored, nil)
  else
    listed[#listed + 1] = name
    listed[#listed + 1] = stored
  end
end
return {found[1], listed}
"""
)
"""ARGV: place, horizon, cursor, count. Answers the next cursor and records with their versions, as HSCAN does.

Records that say nothing any more are dropped: of members of a key that was removed later, and of what is not there and
has not been written since the horizon."""

BEHIND = (
    _EXCHANGE
    + """
local wanted = {}
for index = 2, #ARGV, 2 do
  local letter, key = parsed(ARGV[index])
  local stored = ARGV[index + 1]
  local version, removed = math.abs(tonumber(stored)), string.sub(stored, 1, 1) == '-'
  if behind(place(key), ARGV[index], letter, key, version, removed, tonumber(ARGV[1])) then
    wanted[#wanted + 1] = ARGV[index]
  end
end
return wanted
"""
)
"""ARGV: horizon, then records and their versions in another zone. Answers those that are newer there than here."""

FETCH = (
    _EXCHANGE
    + """
local UNVERSIONED = {list = true, stream = true}
local found, bytes = {}, 0
for index = 2, #ARGV do
  local letter, key, member = parsed(ARGV[index])
  local stored = known(place(key), ARGV[index])
  if stored and bytes < tonumber(ARGV[1]) then
    local removed = string.sub(stored, 1, 1) == '-'
    local value = not removed and value_of(letter, key, member)
    if not (removed or value or UNVERSIONED[kind_of(key)]) then stored, removed = '-' .. stored, true end
    if removed or value then
      local expires = letter == 'k' and not removed and redis.call('PTTL', key) or -1
      for _, word in ipairs({ARGV[index], stored, value or '', tostring(expires)}) do found[#found + 1] = word end
      bytes = bytes + #(value or '')
    end
  end
end
return found
"""
)
"""ARGV: bytes, records. Answers, until so many bytes of values are together: record, version, value, expiry in ms.

What was written and is there no more has expired, or was removed past the versions: it goes out as a removal."""

APPLY = (
    _EXCHANGE
    + """
local applied, refused = 0, 0
for index = 2, #ARGV, 4 do
  local name, stored, value, expires = ARGV[index], ARGV[index + 1], ARGV[index + 2], tonumber(ARGV[index + 3])
  local letter, key, member = parsed(name)
  local at = place(key)
  local removed, version = string.sub(stored, 1, 1) == '-', string.gsub(stored, '^-', '')
  local take, own = behind(at, name, letter, key, tonumber(version), removed, tonumber(ARGV[1]))
  if take and letter ~= 'k' and kind_of(key) == 'string' then
    local whole, its = known(at, id('k', key, ''))
    if whole then
      redis.call('DEL', key)
      record(at, id('k', key, ''), whole, '-' .. digits(its))
    end
  end
  local kind = kind_of(key)
  if take and letter ~= 'k' and kind ~= 'none' and LETTER[kind] ~= letter then
    refused = refused + 1
  elseif take then
    applied = applied + 1
    if letter == 'k' and removed then
      remove(at, key, version, own)
    elseif letter == 'k' then
      set(at, key, version, own, value, expires >= 0 and {'PX', math.max(1, expires)} or {})
    else
      if removed then
        redis.call(REMOVE[letter], key, member)
      elseif letter == 's' then
        redis.call('SADD', key, member)
      elseif letter == 'h' then
        redis.call('HSET', key, member, value)
      else
        redis.call('ZADD', key, value, member)
      end
      record(at, name, own, stored)
    end
  end
end
return {applied, refused}
"""
)
"""ARGV: horizon, then what FETCH answered in another zone. Each is compared again with what is here by now.

Answers how many were taken, and how many refused because the key is of another type here."""


def record_name(letter: str, key: bytes, member: bytes = b"") -> bytes:
    """As ``id`` in the scripts."""
    return b"%b%d:%b%b" % (letter.encode(), len(key), key, member)
