-- Put the id ARGV[1] at the head of the list KEYS[1], and give its job KEYS[2] the status ARGV[2], there or not.
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'status', ARGV[2])
return 1
