local newest, there = 0, 0
for _, key in ipairs(KEYS) do
  local at = place(key)
  local stored, its = known(at, id('k', key, ''))
  newest = math.max(newest, its)
  if its <= tonumber(ARGV[1]) then there = there + remove(at, key, ARGV[1], stored) end
end
return {there, digits(newest)}
