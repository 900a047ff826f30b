local names = {'._digests'}
for number = 0, 255 do names[#names + 1] = string.format('._versions:%02x', number) end
return redis.call('DBSIZE') - redis.call('EXISTS', unpack(names))
