"""The Lua of read repair: writes that carry a version and lose against a newer one, reads that tell the version.

The layout of the metadata is Dynomite's (``proto/dyn_redis_repair.c`` of Netflix Dynomite at 2046b05): sorted sets
``._add-set`` and ``._rem-set`` hold the versions of keys, ``._add-set_KEY`` and ``._rem-set_KEY`` those of the fields
or members of a collection. The scripts are ours. A version is a wall clock in milliseconds; of equal ones the last to
arrive wins.
"""

ADDED, REMOVED, UNKNOWN = b"E", b"R", b"X"
"""What a read says of the key: it exists, it was removed, nothing is known of it."""

_VERSION = """
local function version(add, rem, name)
  local added, removed = redis.call('ZSCORE', add, name), redis.call('ZSCORE', rem, name)
  return math.max(tonumber(added or '-1'), tonumber(removed or '-1'))
end
"""

SET = (
    _VERSION
    + """
if version('._add-set', '._rem-set', KEYS[1]) > tonumber(ARGV[1]) then return -1 end
redis.call('ZADD', '._add-set', ARGV[1], KEYS[1])
redis.call('ZREM', '._rem-set', KEYS[1])
return redis.call('SET', KEYS[1], ARGV[2])
"""
)
"""KEYS: the key. ARGV: version, value."""

DEL = (
    _VERSION
    + """
if version('._add-set', '._rem-set', KEYS[1]) > tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', '._rem-set', ARGV[1], KEYS[1])
redis.call('ZREM', '._add-set', KEYS[1])
redis.call('DEL', '._add-set_' .. KEYS[1], '._rem-set_' .. KEYS[1])
return redis.call('DEL', KEYS[1])
"""
)
"""KEYS: the key. ARGV: version."""

MEMBERS = (
    _VERSION
    + """
local add, rem = '._add-set_' .. KEYS[1], '._rem-set_' .. KEYS[1]
local size, at = tonumber(ARGV[3]), tonumber(ARGV[4])
local to, from = add, rem
if ARGV[5] == '1' then to, from = rem, add end
local taken = {}
for first = 6, #ARGV, size do
  local member = ARGV[first + at]
  if version(add, rem, member) <= tonumber(ARGV[1]) then
    redis.call('ZADD', to, ARGV[1], member)
    redis.call('ZREM', from, member)
    for offset = 0, size - 1 do taken[#taken + 1] = ARGV[first + offset] end
  end
end
if #taken == 0 then return 0 end
return redis.call(ARGV[2], KEYS[1], unpack(taken))
"""
)
"""KEYS: the collection. ARGV: version, command, size of an item, where in it the member is, 1 if it removes, items."""

READ = """
local add, rem, name = '._add-set', '._rem-set', KEYS[1]
if #ARGV > 1 then
  add, rem, name = add .. '_' .. KEYS[1], rem .. '_' .. KEYS[1], ARGV[2]
end
local value = redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
local added, removed = redis.call('ZSCORE', add, name), redis.call('ZSCORE', rem, name)
if added then return {'E', added, value} end
if removed then return {'R', removed, value} end
return {'X', '0', value}
"""
"""KEYS: the key. ARGV: command, and the field or member if it has one."""

FORGET = """
local removed = redis.call('ZSCORE', KEYS[1], ARGV[2])
if removed and tonumber(removed) <= tonumber(ARGV[1]) then return redis.call('ZREM', KEYS[1], ARGV[2]) end
return 0
"""
"""KEYS: a set of removals. ARGV: version, name. Clears up after a removal that every zone has carried out."""
