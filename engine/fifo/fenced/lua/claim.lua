-- Promise the register ARGV[2] under the token ARGV[3] to the session ARGV[4], if nobody has it at ARGV[5], until ARGV[6].
-- ARGV[7]: so many ms longer it is somebody's. All times are those of the clock of whoever asks.
local refused = refusal()
if refused then return refused end
local register, token = register_of(redis.call('HGET', KEYS[2], ARGV[2])), tonumber(ARGV[3])
if register.promised == token and register.owner == ARGV[4] then return 'ok' end
if register.promised >= token then return 'older' end
if tonumber(ARGV[5]) <= register.ends + tonumber(ARGV[7]) and register.owner ~= ARGV[4] then return 'held' end
register.promised, register.owner, register.ends = token, ARGV[4], tonumber(ARGV[6])
put(ARGV[2], register)
return 'ok'
