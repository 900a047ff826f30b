local key, letter = KEYS[1], ARGV[2]
local value = redis.call(ARGV[1], key, unpack(ARGV, 3))
local at = place(key)
local whole, its = known(at, id('k', key, ''))
if letter == 'k' then return {whole or '0', value, redis.call('PTTL', key)} end
local member, own = known(at, id(letter, key, ARGV[3]))
if own > its then return {member, value} end
return {whole and '-' .. digits(its) or '0', value}
