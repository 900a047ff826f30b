local newest = 0
for index = 1, #KEYS do
  local key = KEYS[index]
  local at = place(key)
  local stored, its = known(at, id('k', key, ''))
  newest = math.max(newest, its)
  if its <= tonumber(ARGV[1]) then set(at, key, ARGV[1], stored, ARGV[1 + index], {unpack(ARGV, 2 + #KEYS)}) end
end
return {'OK', digits(newest)}
