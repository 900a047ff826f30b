-- Free the lock KEYS[1] if ARGV[1] has it, by whatever grant. 1 if it had.
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
