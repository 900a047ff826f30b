local at, horizon = ARGV[1], tonumber(ARGV[2])
local found = redis.call('HSCAN', at, ARGV[3], 'COUNT', ARGV[4])
local listed = {}
for index = 1, #found[2], 2 do
  local name, stored = found[2][index], found[2][index + 1]
  local letter, key, member = parsed(name)
  local version = math.abs(tonumber(stored))
  local covered = false
  if letter ~= 'k' then
    local _, whole = known(at, id('k', key, ''))
    covered = whole >= version
  end
  if covered or (version < horizon and not value_of(letter, key, member)) then
    record(at, name, stored, nil)
  else
    listed[#listed + 1] = name
    listed[#listed + 1] = stored
  end
end
return {found[1], listed}
