-- Before each of the other scripts. KEYS[1]: what the zone knows of the partition as a whole, KEYS[2]: its registers.
-- ARGV[1]: the era of whoever asks; '' if nobody has to be admitted.
local function own_run()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- Whether this very process was admitted: what a zone has that died since, or a copy of another one, does not count.
local function admitted()
  return redis.call('HGET', KEYS[1], 'mark') == own_run()
end

-- Why the zone does not take part, if it does not.
local function refusal()
  if ARGV[1] == '' then return nil end
  local known = redis.call('HMGET', KEYS[1], 'mark', 'era')
  if known[1] ~= own_run() then return 'unadmitted' end
  if known[2] ~= ARGV[1] then return 'era' end
  return nil
end

local function generation(era)
  return tonumber(string.match(era or '', '^%d+') or '0')
end

-- A register: the token that was promised last, to whom and until when; the token and the number of the last write, and
-- what it wrote.
local function register_of(text)
  local promised, owner, ends, token, number, state = string.match(text or '', '^(%d+) (%S+) (%d+) (%d+) (%d+) (.*)$')
  if not promised then return {promised = 0, owner = '-', ends = 0, token = 0, number = 0, state = ''} end
  return {
    promised = tonumber(promised), owner = owner, ends = tonumber(ends),
    token = tonumber(token), number = tonumber(number), state = state,
  }
end

local function put(name, of)
  local head = string.format('%.0f %s %.0f %.0f %.0f ', of.promised, of.owner, of.ends, of.token, of.number)
  redis.call('HSET', KEYS[2], name, head .. of.state)
end

-- Where the log begins that has this state: all in front of that is finished by every group, and gone.
local function first_of(state)
  return tonumber(string.match(state, '},[01],(%d+),%d+%]$') or '0')
end

-- Drop the records from offset `before` on that lie in front of `first`, of the log KEYS[3]. A zone that had nothing is given
-- a log that begins far behind 0, so what it has is looked at if that is less.
local function trim(before, first)
  local offsets = {}
  if first - before > redis.call('HLEN', KEYS[3]) then
    for _, offset in ipairs(redis.call('HKEYS', KEYS[3])) do
      if tonumber(offset) < first then table.insert(offsets, offset) end
    end
  else
    for offset = before, first - 1 do table.insert(offsets, string.format('%.0f', offset)) end
  end
  for _, offset in ipairs(offsets) do redis.call('HDEL', KEYS[3], offset) end
end

-- Put a newer state into a register, which is of that name.
local function take(name, register, token, number, state)
  local before, first = first_of(register.state), first_of(state)
  if name == 'log' and first > before then trim(before, first) end
  register.token, register.number, register.state = token, number, state
end

local function newer(token, number, than)
  return token > than.token or token == than.token and number > than.number
end
