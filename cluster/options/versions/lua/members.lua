local key, version = KEYS[1], tonumber(ARGV[1])
local letter, size, offset, removes = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local kind = kind_of(key)
if kind ~= 'none' and LETTER[kind] ~= letter then
  return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end
local at = place(key)
local _, newest = known(at, id('k', key, ''))
local removed, taken, names, count = newest, {}, {}, 0
for first = 7, #ARGV, size do
  local name = id(letter, key, ARGV[first + offset])
  local _, its = known(at, name)
  newest = math.max(newest, its)
  if its <= version and removed <= version then
    names[#names + 1] = name
    for word = first, first + size - 1 do taken[#taken + 1] = ARGV[word] end
  end
end
for first = 1, #taken, 1000 do
  local told = redis.call(ARGV[2], key, unpack(taken, first, math.min(first + 999, #taken)))
  count = count + (type(told) == 'number' and told or 0)
end
for _, name in ipairs(names) do record(at, name, known(at, name), removes and '-' .. ARGV[1] or ARGV[1]) end
return {ARGV[2] == 'HMSET' and 'OK' or count, digits(newest)}
