-- Put ARGV[2] in place of the route ARGV[1] at KEYS[1]; an empty ARGV[1] stands for none. 1 if that was there.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
