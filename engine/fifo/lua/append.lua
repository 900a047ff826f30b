-- Give the record ARGV[1] the next offset of the log KEYS[1] and put it in, behind all that is due by the time ARGV[4].
-- If it is due at ARGV[5], later than that, it waits in KEYS[4] instead; ARGV[6] is its place among those due then.
-- KEYS[2]: what the log knows of itself. With a sequence number ARGV[3] only if it follows the last one of the producer
-- ARGV[2] in KEYS[3].
-- {0, offset}: appended. {1, offset}: it was there already. {2, last}: older than the last one. {3, last}: one is missing.
-- {4, next}: the log is sealed. {5, 0}: it waits. {6, 0}: it waited already.
if ARGV[3] ~= '' then
  local last = redis.call('HGET', KEYS[3], ARGV[2])
  if last then
    local sequence, offset = string.match(last, '^(%d+) (%S+)$')
    local step = tonumber(ARGV[3]) - tonumber(sequence)
    if step == 0 and offset == 'delayed' then return {6, 0} end
    if step == 0 then return {1, tonumber(offset)} end
    if step < 0 then return {2, tonumber(sequence)} end
    if step > 1 then return {3, tonumber(sequence)} end
  end
end
if redis.call('HEXISTS', KEYS[2], 'sealed') == 1 then return {4, tonumber(redis.call('HGET', KEYS[2], 'next') or 0)} end
if ARGV[4] ~= '' then move_due(ARGV[4]) end
if ARGV[5] == '' then return {0, put(ARGV[1], ARGV[2], ARGV[3])} end
redis.call('ZADD', KEYS[4], ARGV[5], ARGV[6] .. ' ' .. ARGV[2] .. ' ' .. ARGV[1])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ' delayed') end
return {5, 0}
