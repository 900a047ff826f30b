local add, rem, name = '._add-set', '._rem-set', KEYS[1]
if #ARGV > 1 then
  add, rem, name = add .. '_' .. KEYS[1], rem .. '_' .. KEYS[1], ARGV[2]
end
local value = redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
local added, removed = redis.call('ZSCORE', add, name), redis.call('ZSCORE', rem, name)
if added then return {'E', added, value} end
if removed then return {'R', removed, value} end
return {'X', '0', value}
