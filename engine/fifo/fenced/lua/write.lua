-- Put the state ARGV[7] into the register ARGV[2] as write number ARGV[6] under the token ARGV[3] of the session ARGV[4],
-- which has it until ARGV[5]. What is older than what the zone has changes nothing; what it missed does not matter.
-- KEYS[3]: log, KEYS[4]: inbox, KEYS[5]: what was put aside, KEYS[6]: delayed.
-- ARGV[8]: 1 if tokens and numbers count. ARGV[9]: so many records follow, each with its offset, that go to the log; then
-- ARGV[10] records that leave both inboxes; then pairs that are put aside.
local refused = refusal()
if refused then return refused end
local register = register_of(redis.call('HGET', KEYS[2], ARGV[2]))
local token, number, counts = tonumber(ARGV[3]), tonumber(ARGV[6]), ARGV[8] == '1'
if counts and token < register.promised then return 'fenced' end
if register.owner ~= ARGV[4] or token ~= register.promised then register.ends = 0 end
register.promised, register.owner = token, ARGV[4]
local current = token == register.token and number == register.number
local takes = not counts or newer(token, number, register)
if takes then
  take(ARGV[2], register, token, number, ARGV[7])
  register.ends = tonumber(ARGV[5])
elseif current then
  register.ends = math.max(register.ends, tonumber(ARGV[5]))
end
put(ARGV[2], register)
if takes then
  local last = 10 + 2 * tonumber(ARGV[9])
  for i = 11, last, 2 do redis.call('HSET', KEYS[3], ARGV[i], ARGV[3] .. ' ' .. ARGV[i + 1]) end
  local left = last + tonumber(ARGV[10])
  for i = last + 1, left do
    redis.call('ZREM', KEYS[4], ARGV[i])
    redis.call('ZREM', KEYS[6], ARGV[i])
  end
  for i = left + 1, #ARGV, 2 do redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1]) end
end
return 'ok'
