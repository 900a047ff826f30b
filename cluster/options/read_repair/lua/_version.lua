local function version(add, rem, name)
  local added, removed = redis.call('ZSCORE', add, name), redis.call('ZSCORE', rem, name)
  return math.max(tonumber(added or '-1'), tonumber(removed or '-1'))
end
