-- Take up to 200 ids that are due by second ARGV[4] out of the bucket KEYS[1]; those whose jobs, named ARGV[3]:id, are
-- of status ARGV[1] or ARGV[2] are returned, after the seconds until the next is due, as text (-1 if there is none), and
-- the number of ids that are left.
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[4], 'LIMIT', 0, 200)
local ids = {}
for _, id in ipairs(due) do
    local status = redis.call('HGET', ARGV[3] .. ':' .. id, 'status')
    redis.call('ZREM', KEYS[1], id)
    if status == ARGV[1] or status == ARGV[2] then
        ids[#ids + 1] = id
    end
end
local seconds = -1
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if first[2] then
    seconds = math.max(0, first[2] - ARGV[4])
end
table.insert(ids, 1, string.format('%.0f', seconds))
table.insert(ids, 2, redis.call('ZCARD', KEYS[1]))
return ids
