-- Give the register ARGV[2] back if the session ARGV[4] has it under the token ARGV[3]: a promise that nobody won.
local refused = refusal()
if refused then return refused end
local register = register_of(redis.call('HGET', KEYS[2], ARGV[2]))
if register.promised == tonumber(ARGV[3]) and register.owner == ARGV[4] then
  register.ends = 0
  put(ARGV[2], register)
end
return 'ok'
