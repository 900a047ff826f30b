for _ = 1, 100 do
  local key = redis.call('RANDOMKEY')
  if not key or shown(key) then return key end
end
local cursor = '0'
repeat
  local found = redis.call('SCAN', cursor, 'COUNT', 1000)
  cursor = found[1]
  for _, key in ipairs(found[2]) do
    if shown(key) then return key end
  end
until cursor == '0'
return false
