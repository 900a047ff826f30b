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
