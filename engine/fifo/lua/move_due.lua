-- For scripts whose KEYS are a log, what it knows of itself, its producers, and what is delayed until its score.

-- Give a record the next offset and put it in. What is known of its producer is told, if its last record this is.
local function put(text, producer, sequence)
  local offset = redis.call('HINCRBY', KEYS[2], 'next', 1) - 1
  local number = string.format('%.0f', offset)
  redis.call('ZADD', KEYS[1], number, number .. ' ' .. text)
  if sequence ~= '' then redis.call('HSET', KEYS[3], producer, sequence .. ' ' .. number) end
  return offset
end

-- Put in what is due by the time now, by due time and then by number. A sealed log takes nothing. How many that were.
local function move_due(now)
  local due = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now)
  if #due == 0 or redis.call('HEXISTS', KEYS[2], 'sealed') == 1 then return 0 end
  for _, member in ipairs(due) do
    local sequence, producer, text = string.match(member, '^%d+ 0*(%d+) (%S+) (.*)$')
    local last = redis.call('HGET', KEYS[3], producer)
    put(text, producer, last == sequence .. ' delayed' and sequence or '')
    redis.call('ZREM', KEYS[4], member)
  end
  return #due
end

