-- Remove the lock KEYS[1] if it is that of the owner ARGV[1]; 1 if it was.
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
