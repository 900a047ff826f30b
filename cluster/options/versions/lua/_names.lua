local function place(key) return '._versions:' .. string.sub(redis.sha1hex(key), 1, 2) end
local function id(letter, key, member) return letter .. #key .. ':' .. key .. member end
local function known(at, name)
  local stored = redis.call('HGET', at, name)
  return stored, stored and math.abs(tonumber(stored)) or 0
end
local function digits(number) return string.format('%.0f', number) end
