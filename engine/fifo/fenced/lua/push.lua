-- Put records into the inbox KEYS[3], unless the partition is sealed.
-- ARGV[2..]: when it was sent, or is due, in ms, and the record, for each.
local refused = refusal()
if refused then return refused end
if register_of(redis.call('HGET', KEYS[2], 'seal')).state ~= '' then return 'sealed' end
for i = 2, #ARGV, 2 do redis.call('ZADD', KEYS[3], 'NX', ARGV[i], ARGV[i + 1]) end
return 'ok'
