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
