-- Take up to 200 ids that are due by second ARGV[4] out of the bucket KEYS[1]; those whose jobs, named ARGV[3]:id, are
-- of status ARGV[1] or ARGV[2] are returned, after the seconds until the next is due, as text: -1 if there is none.
local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[4], 'LIMIT', 0, 200)
local ids = {}
for _, id in ipairs(due) do
    local status = redis.call('HGET', string.format('%s:%s', ARGV[3], id), 'status')
    if redis.call('ZREM', KEYS[1], id) == 1 and (status == ARGV[1] or status == ARGV[2]) then
        ids[#ids + 1] = id
    end
end
local seconds = -1
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if first[2] then
    seconds = first[2] - ARGV[4]
    if seconds < 0 then
        seconds = 1
    end
end
table.insert(ids, 1, tostring(seconds))
return ids
