-- What a script sees of Lua and of the server. Rules: the server's own (modules/lua of https://github.com/valkey-io/valkey).
-- Argument: the functions of the host.
local host = ...
local error, setmetatable, getmetatable, type, select, tostring = error, setmetatable, getmetatable, type, select, tostring
local getinfo, loadstring, setfenv, unpack = debug.getinfo, loadstring, setfenv, unpack
local rawget, rawset, outside = rawget, rawset, getfenv(0)
local SOURCE, FUNCTION_SOURCE = "@user_script", "@user_function"
local OWN_SOURCE = getinfo(1, "S").source
local SPECIAL = {"double", "map", "set", "big_number", "verbatim_string",
  double = "number", map = "table", set = "table", big_number = "string", verbatim_string = "table"}
local STACK_MAX = 8000  -- LUAI_MAXCSTACK
local READONLY = "Attempt to modify a readonly table"
local protected = {}

-- Returns the proxy and its metatable.
local function readonly(table)
  local meta = {
    __index = table,
    __newindex = function() error(READONLY, 2) end,
    __metatable = false,
  }
  local proxy = setmetatable({}, meta)
  protected[proxy] = true
  return proxy, meta
end

-- The frame of a script at a level of the caller's or above; if asked, functions of C and calls in place of a return
-- are skipped.
local function frame_from(level, skips)
  local info
  repeat
    level = level + 1
    info = getinfo(level, "Sl")
  until not info or not (info.source == OWN_SOURCE or skips and (info.what == "C" or info.what == "tail"))
  return info
end

-- As the server's own function says it, at the line of the script.
local function bad_argument(number, name, problem)
  error("bad argument #" .. number .. " to '" .. name .. "' (" .. problem .. ")", 3)
end

local server = {
  call = host.call, pcall = host.pcall, sha1hex = host.sha1hex, log = host.log, setresp = host.setresp,
  set_repl = host.set_repl, acl_check_cmd = host.acl_check_cmd,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
  REDIS_VERSION = "7.2.4", REDIS_VERSION_NUM = 0x00070204,
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

function server.replicate_commands() return true end

-- Lua's own library, less what is not repeatable or leads out

local safe_math = {}
for name, value in pairs(math) do safe_math[name] = value end
safe_math.random, safe_math.randomseed = host.random, host.randomseed

local function os_clock() return 0 end

local function thrown(failure)
  if type(failure) == "userdata" then return host.thrown(failure) end
  return failure
end

-- For the handler of an error, while the stack is still there: where the host's function was called, as Lua says it.
local function thrown_here(failure)
  local value = thrown(failure)
  if type(failure) ~= "userdata" or type(value) ~= "string" then return value end
  local info = frame_from(4, false)
  return info and info.currentline > 0 and info.short_src .. ":" .. info.currentline .. ": " .. value or value
end

local function plain(failure)
  failure = thrown(failure)
  if type(failure) ~= "table" then return failure end
  local text = failure.err
  if type(text) == "string" or type(text) == "number" then return text end
  return failure, text
end

local function caught(done, ...)
  if done then return true, ... end
  return false, plain((...))
end

local function resumed(done, ...)
  if done then return true, ... end
  return false, thrown((...))
end

local safe_coroutine = {}
for name, value in pairs(coroutine) do safe_coroutine[name] = value end

function safe_coroutine.resume(...) return resumed(coroutine.resume(...)) end

local api = readonly(server)
local globals = {
  string = readonly(string), table = readonly(table), math = readonly(safe_math),
  os = readonly({clock = os_clock}), coroutine = readonly(safe_coroutine),
  redis = api, server = api,
  cjson = readonly(host.cjson), cmsgpack = readonly(host.cmsgpack), struct = readonly(host.struct),
  bit = readonly(host.bit),
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next, pairs = pairs,
  rawequal = rawequal, rawget = rawget, select = select, setmetatable = setmetatable, tonumber = tonumber,
  tostring = tostring, type = type, loadstring = loadstring, _VERSION = _VERSION,
}

function globals.pcall(...)
  if select("#", ...) == 0 then return false, "attempt to call a boolean value" end
  return caught(pcall(...))
end

function globals.xpcall(...)
  if select("#", ...) < 2 then bad_argument(2, "xpcall", "value expected") end
  local body, handler = ...
  return xpcall(body, function(failure) return handler(thrown_here(failure)) end)
end

local function check_table(name, ...)
  local given = ...
  if type(given) == "table" then return end
  given = select("#", ...) == 0 and "no value" or type(given)
  error("bad argument #1 to '" .. name .. "' (table expected, got " .. given .. ")", 3)
end

function globals.rawset(...)
  check_table("rawset", ...)
  if select("#", ...) < 3 then bad_argument(select("#", ...) + 1, "rawset", "value expected") end
  local table, key, value = ...
  if protected[table] then error(READONLY, 0) end
  return rawset(table, key, value)
end

-- As Lua converts to C's int. The host knows how; a number that is one already does not trouble it.
local function whole(word)
  if type(word) == "number" and word >= -2 ^ 31 and word < 2 ^ 31 and word % 1 == 0 then return word end
  return host.whole(word)
end

-- Lua's own counts results without looking for an overflow, and ends the process.
function globals.unpack(...)
  check_table("unpack", ...)
  local list, from, to = ...
  from, to = from == nil and 1 or whole(from), to == nil and #list or whole(to)
  if not from then bad_argument(2, "unpack", "number expected, got " .. type((select(2, ...)))) end
  if not to then bad_argument(3, "unpack", "number expected, got " .. type((select(3, ...)))) end
  if to - from + 1 + select("#", ...) > STACK_MAX then error("too many results to unpack", 2) end
  return unpack(list, from, to)
end

local strict = {__index = function(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end}
setmetatable(globals, strict)

getmetatable("").__index = globals.string
getmetatable("").__metatable = readonly({__index = globals.string})

-- Running

local function described(failure)
  local info = frame_from(2, true)
  failure = thrown_here(failure)
  local text = "ERR " .. tostring(failure)
  if type(failure) == "table" then text = plain(failure) end
  if type(text) == "number" then text = tostring(text) end
  if type(text) ~= "string" then text = "ERR unknown error" end
  return {text = text, source = info and info.source or SOURCE, line = info and info.currentline or -1}
end

-- One environment does for all scripts: they cannot write to it.
local visible = setmetatable({}, {__index = globals})
local environment = readonly(visible)
visible._G = environment

-- Libraries of functions share another one. While one is loaded it holds only what registers.
local registering = {register_function = host.register_function, log = host.log}
for name, value in pairs(server) do
  if name:find("^LOG_") or name:find("VERSION") then registering[name] = value end
end
registering = readonly(setmetatable(registering, strict))
local while_loading = setmetatable({redis = registering, server = registering}, strict)
local for_functions = setmetatable({}, {__index = globals})
local function_environment, seen_by_functions = readonly(for_functions)
for_functions._G = function_environment

-- The server takes no compiled code: it reads the first byte as source.
local function compiled(text, source, environment)
  local chunk, problem = loadstring(text:byte() == 27 and " " .. text or text, source)
  if not chunk then return nil, problem end
  return setfenv(chunk, environment)
end

local function compile(text) return compiled(text, SOURCE, environment) end

local function compile_library(text) return compiled(text, FUNCTION_SOURCE, function_environment) end

local function outcome(done, result)
  if done then return true, result end
  return false, result.text, result.source, result.line
end

local function carried_out(chunk, environment)
  setfenv(0, environment)  -- for what the script loads
  local done, result = xpcall(chunk, described)
  setfenv(0, outside)
  return outcome(done, result)
end

local function run(chunk, keys, argv)
  visible.KEYS, visible.ARGV = keys, argv
  return carried_out(chunk, environment)
end

local function load(chunk)
  seen_by_functions.__index = while_loading
  local done, problem = outcome(xpcall(chunk, described))
  seen_by_functions.__index = for_functions
  return done, problem
end

local function run_function(callback, keys, argv)
  return carried_out(function()
    local value = callback(keys, argv)
    return value
  end, function_environment)
end

-- A type of RESP 3 that a table stands for, with its value.
local function special(table)
  if not (rawget(table, "double") or rawget(table, "map") or rawget(table, "set") or rawget(table, "big_number")
          or rawget(table, "verbatim_string")) then return end
  for _, kind in ipairs(SPECIAL) do
    local value = rawget(table, kind)
    if value == 0 and 1 / value < 0 then return kind, "-0" end  -- the host's integers have no negative zero
    if type(value) == SPECIAL[kind] then return kind, value end
  end
end

local function parts(table)
  local size, kind, value = 0, special(table)
  while rawget(table, size + 1) ~= nil do size = size + 1 end
  if size > 200 then return rawget(table, "err"), rawget(table, "ok"), kind, value, size end  -- a stack has an end
  return rawget(table, "err"), rawget(table, "ok"), kind, value, size, unpack(table, 1, size)
end

return compile, run, parts, rawget, compile_library, load, run_function
