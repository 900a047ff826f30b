-- Promise the register ARGV[2] under the token ARGV[3] to the session ARGV[4], if nobody has it at ARGV[5], until ARGV[6].
-- ARGV[7]: so many ms longer it is somebody's. All times are those of the clock of whoever asks.
-- ARGV[5] '': no clock counts, and leases are over that are among ARGV[8..], each a token, its owner and its end.
local function held(register)
  if ARGV[5] ~= '' then return tonumber(ARGV[5]) <= register.ends + tonumber(ARGV[7]) end
  local lease = string.format('%.0f %s %.0f', register.promised, register.owner, register.ends)
  for i = 8, #ARGV do
    if ARGV[i] == lease then return false end
  end
  return register.ends > 0
end

local refused = refusal()
if refused then return refused end
local register, token = register_of(redis.call('HGET', KEYS[2], ARGV[2])), tonumber(ARGV[3])
if register.promised == token and register.owner == ARGV[4] then return 'ok' end
if register.promised >= token then return 'older' end
if held(register) and register.owner ~= ARGV[4] then return 'held' end
register.promised, register.owner, register.ends = token, ARGV[4], tonumber(ARGV[6])
put(ARGV[2], register)
return 'ok'
