-- Admit this process to the era ARGV[1] if it got all of ARGV[2] pages. KEYS[3]: the pages that came.
if admitted() then return 'admitted' end
local run = own_run()
for page = 1, tonumber(ARGV[2]) do
  if redis.call('SISMEMBER', KEYS[3], run .. ' ' .. ARGV[1] .. ' ' .. page) == 0 then return 'incomplete' end
end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[1], 'mark', run, 'era', ARGV[1])
return 'ok'
