-- Finds one message whose stored JSON matches a pattern.
-- KEYS[1] payload hash; KEYS[2], if given, the waiting set in which the message must be.
-- ARGV[1] Lua pattern.
-- Returns its id, or nil. Which of several it is depends on the order in which the server scans its hash.
-- Atomic on one server; changes nothing. Reads the whole hash in the worst case.
local cursor = '0'
repeat
  local page = redis.call('HSCAN', KEYS[1], cursor)
  cursor = page[1]
  local entries = page[2]
  for position = 1, #entries, 2 do
    local id, payload = entries[position], entries[position + 1]
    if string.find(payload, ARGV[1]) and (not KEYS[2] or redis.call('ZSCORE', KEYS[2], id)) then return id end
  end
until cursor == '0'
return nil
