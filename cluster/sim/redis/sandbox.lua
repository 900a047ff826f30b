-- What a script sees of Lua and of the server. Rules: the server's own (modules/lua of https://github.com/valkey-io/valkey).
-- Arguments: what the host lends; failure_text(failure) is the text of what one of its functions raised.
local call, protected_call, sha1hex, failure_text, fraction, reseed = ...
local error, setmetatable, getmetatable, type, select, tostring = error, setmetatable, getmetatable, type, select, tostring
local getinfo, loadstring, setfenv, getfenv, unpack = debug.getinfo, loadstring, setfenv, getfenv, unpack
local rawget, rawset = rawget, rawset
local SOURCE = "@user_script"
local READONLY = "Attempt to modify a readonly table"
local protected = {}

local function readonly(table)
  local proxy = setmetatable({}, {
    __index = table,
    __newindex = function() error(READONLY, 2) end,
    __metatable = false,
  })
  protected[proxy] = true
  return proxy
end

-- Functions that raise are the host's: they leave no frame of their own, so `return redis.call(...)` keeps its line.
local server = {
  call = call, pcall = protected_call, sha1hex = sha1hex,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
}

local function single_field(name, ...)
  local text = ...
  if select("#", ...) ~= 1 or type(text) ~= "string" then
    return {err = "ERR wrong number or type of arguments"}
  end
  return {[name] = text}
end

function server.status_reply(...) return single_field("ok", ...) end

function server.error_reply(...)
  local reply = single_field("err", ...)
  if reply.err:sub(1, 1) == "-" then reply.err = reply.err:sub(2) end
  if not reply.err:find(" ", 1, true) then reply.err = "ERR " .. reply.err end
  return reply
end

function server.log() end
function server.replicate_commands() return true end

-- Lua's own library, less what is not repeatable or leads out

local function truncated(number)
  return number < 0 and math.ceil(number) or math.floor(number)
end

local safe_math = {}
for name, value in pairs(math) do safe_math[name] = value end

function safe_math.random(...)
  local low, high = ...
  local count = select("#", ...)
  if count > 2 then error("wrong number of arguments", 2) end
  local drawn = fraction()
  if count == 0 then return drawn end
  if count == 1 then low, high = 1, low end
  low, high = truncated(low), truncated(high)
  if low > high then error("bad argument #" .. count .. " to 'random' (interval is empty)", 2) end
  return math.floor(drawn * (high - low + 1)) + low
end

function safe_math.randomseed(seed) reseed(seed) end

local function os_clock() return 0 end

local function plain(failure)
  if type(failure) == "userdata" then return failure_text(failure) end
  if type(failure) == "table" and type(failure.err) == "string" then return failure.err end
  return failure
end

local function caught(done, ...)
  if done then return true, ... end
  return false, plain((...))
end

local globals = {
  string = readonly(string), table = readonly(table), math = readonly(safe_math),
  os = readonly({clock = os_clock}), coroutine = readonly(coroutine), redis = readonly(server), server = readonly(server),
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next, pairs = pairs,
  rawequal = rawequal, rawget = rawget, select = select, setmetatable = setmetatable, tonumber = tonumber,
  tostring = tostring, type = type, unpack = unpack, _VERSION = _VERSION,
}

function globals.pcall(...) return caught(pcall(...)) end

function globals.xpcall(body, handler)
  return xpcall(body, function(failure) return handler(plain(failure)) end)
end

function globals.rawset(table, key, value)
  if protected[table] then error(READONLY, 0) end
  return rawset(table, key, value)
end

function globals.loadstring(text, name)
  local chunk, failure = loadstring(text, name)
  if not chunk then return nil, failure end
  return setfenv(chunk, getfenv(2))
end

setmetatable(globals, {__index = function(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end})

getmetatable("").__index = globals.string
getmetatable("").__metatable = readonly({__index = globals.string})

-- Running

local function described(failure)
  local level = 2
  local info = getinfo(level, "Sl")
  while info and info.source ~= SOURCE do
    level = level + 1
    info = getinfo(level, "Sl")
  end
  local text = plain(failure)
  if type(failure) ~= "userdata" and type(failure) ~= "table" then text = "ERR " .. tostring(text) end
  if type(text) ~= "string" then text = "ERR unknown error" end
  return {text = text, line = info and info.currentline or -1}
end

local function compile(text)
  return loadstring(text, SOURCE)
end

local function run(chunk, keys, argv)
  local visible = setmetatable({KEYS = keys, ARGV = argv}, {__index = globals})
  local environment = readonly(visible)
  visible._G = environment
  setfenv(chunk, environment)
  local done, result = xpcall(chunk, described)
  if done then return true, result end
  return false, result.text, result.line
end

local function parts(table)
  local size = 0
  while rawget(table, size + 1) ~= nil do size = size + 1 end
  if size > 200 then return rawget(table, "err"), rawget(table, "ok"), size end  -- a stack has an end
  return rawget(table, "err"), rawget(table, "ok"), size, unpack(table, 1, size)
end

return compile, run, parts, rawget
