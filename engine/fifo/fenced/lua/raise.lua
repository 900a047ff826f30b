-- Take part in the era ARGV[1] from now on, and in no earlier one.
if not admitted() then return 'unadmitted' end
local era = redis.call('HGET', KEYS[1], 'era')
if era == ARGV[1] then return 'ok' end
if generation(era) >= generation(ARGV[1]) then return 'older' end
redis.call('HSET', KEYS[1], 'era', ARGV[1])
return 'ok'
