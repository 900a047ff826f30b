-- A page of what an admitted zone has, for one that is not: it keeps the newer of what it has and what it gets.
-- KEYS[3]: log, KEYS[4]: inbox, KEYS[5]: what was put aside, KEYS[6]: the pages that came,
-- KEYS[7]: delayed. ARGV[1]: the era in which it is to be admitted, ARGV[2]: the number of the page, ARGV[3]: what it is a page
-- of, ARGV[4..]: pairs.
if admitted() then return 'admitted' end
local first = first_of(register_of(redis.call('HGET', KEYS[2], 'log')).state)
for i = 4, #ARGV, 2 do
  local name, value = ARGV[i], ARGV[i + 1]
  if ARGV[3] == 'registers' then
    local ours, theirs = register_of(redis.call('HGET', KEYS[2], name)), register_of(value)
    if theirs.promised > ours.promised then
      ours.promised, ours.owner, ours.ends = theirs.promised, theirs.owner, theirs.ends
    elseif theirs.promised == ours.promised and theirs.owner ~= ours.owner then
      ours.owner, ours.ends = '-', math.max(ours.ends, theirs.ends)  -- neither may count this zone as having promised
    end
    if newer(theirs.token, theirs.number, ours) then
      take(name, ours, theirs.token, theirs.number, theirs.state)
    end
    put(name, ours)
  elseif ARGV[3] == 'log' then
    local ours = redis.call('HGET', KEYS[3], name)
    local held = ours and tonumber(string.match(ours, '^%d+')) or -1
    if tonumber(string.match(value, '^%d+')) > held and tonumber(name) >= first then redis.call('HSET', KEYS[3], name, value) end
  elseif ARGV[3] == 'inbox' then
    redis.call('ZADD', KEYS[4], 'NX', value, name)
  elseif ARGV[3] == 'delayed' then
    redis.call('ZADD', KEYS[7], 'NX', value, name)
  else
    redis.call('HSETNX', KEYS[5], name, value)
  end
end
redis.call('SADD', KEYS[6], own_run() .. ' ' .. ARGV[1] .. ' ' .. ARGV[2])
return 'filled'
