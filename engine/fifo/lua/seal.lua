-- Seal the log that KEYS[1] knows of: nothing is appended any more. The offset of the record that does not come.
redis.call('HSET', KEYS[1], 'sealed', 1)
return tonumber(redis.call('HGET', KEYS[1], 'next') or 0)
