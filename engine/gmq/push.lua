-- Write the job KEYS[1] of the fields and values ARGV; 0 if there is one of this id.
if redis.call('EXISTS', KEYS[1]) == 1 then
    return 0
end
redis.call('HMSET', KEYS[1], unpack(ARGV))
return 1
