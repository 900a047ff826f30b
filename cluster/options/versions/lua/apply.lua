local applied, refused = 0, 0
for index = 2, #ARGV, 4 do
  local name, stored, value, expires = ARGV[index], ARGV[index + 1], ARGV[index + 2], tonumber(ARGV[index + 3])
  local letter, key, member = parsed(name)
  local at = place(key)
  local removed, version = string.sub(stored, 1, 1) == '-', string.gsub(stored, '^-', '')
  local take, own = behind(at, name, letter, key, tonumber(version), removed, tonumber(ARGV[1]))
  if take and letter ~= 'k' and kind_of(key) == 'string' then
    local whole, its = known(at, id('k', key, ''))
    if whole then
      redis.call('DEL', key)
      record(at, id('k', key, ''), whole, '-' .. digits(its))
    end
  end
  local kind = kind_of(key)
  if take and letter ~= 'k' and kind ~= 'none' and LETTER[kind] ~= letter then
    refused = refused + 1
  elseif take then
    applied = applied + 1
    if letter == 'k' and removed then
      remove(at, key, version, own)
    elseif letter == 'k' then
      set(at, key, version, own, value, expires >= 0 and {'PX', math.max(1, expires)} or {})
    else
      if removed then
        redis.call(REMOVE[letter], key, member)
      elseif letter == 's' then
        redis.call('SADD', key, member)
      elseif letter == 'h' then
        redis.call('HSET', key, member, value)
      else
        redis.call('ZADD', key, value, member)
      end
      record(at, name, own, stored)
    end
  end
end
return {applied, refused}
