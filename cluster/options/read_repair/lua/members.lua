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
