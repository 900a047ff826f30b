-- Begin a partition. ARGV[1]: its first era. ARGV[2..]: the processes of the zones that all had nothing of it.
-- KEYS[3..]: whatever else a partition has.
if redis.call('HGET', KEYS[1], 'era') == ARGV[1] and admitted() then return 'ok' end
for _, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then return 'not empty' end
end
local run = own_run()
for i = 2, #ARGV do
  if ARGV[i] == run then
    redis.call('HSET', KEYS[1], 'mark', run, 'era', ARGV[1])
    return 'ok'
  end
end
return 'another process'
