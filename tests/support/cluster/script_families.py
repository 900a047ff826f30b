"""Scripts, and libraries of functions with their calls, as templates of ``command_families``."""

from collections.abc import Sequence

_CALLS = """#!lua name=calls
redis.register_function('call', function(keys, argv) return redis.call(unpack(argv)) end)
redis.register_function('pcall', function(keys, argv) return redis.pcall(unpack(argv)) end)
local calls = 0
redis.register_function('count', function() calls = calls + 1 return calls end)
redis.register_function('set', function(keys, argv)
  local old = redis.call('get', keys[1])
  redis.call('set', keys[1], argv[1])
  return {old, #keys, #argv}
end)"""
_FLAGGED = """#!lua name=flagged
local function get(keys) return redis.call('get', keys[1]) end
local function set(keys, argv) return redis.call('set', keys[1], argv[1] or '') end
redis.register_function{function_name='get', callback=get, flags={'no-writes', 'allow-stale'}, description='reads'}
redis.register_function{function_name='forbidden', callback=set, flags={'no-writes'}}
redis.register_function{function_name='rich', callback=set, flags={'allow-oom', 'no-cluster'}}"""
_FAILING = """#!lua name=failing
redis.register_function('text', function() error('oops') end)
redis.register_function('number', function() error(5) end)
redis.register_function('table', function() error({err='MY oops'}) end)
redis.register_function('reply', function() return redis.error_reply('oops') end)
redis.register_function('incr', function(keys)
  local value = redis.call('incr', keys[1])
  return value
end)
redis.register_function('global', function() x = 1 end)
redis.register_function('absent', function() return KEYS[1] end)
redis.register_function('late', function() redis.register_function('again', function() end) end)
redis.register_function('nested', function() return redis.call('fcall', 'text', 0) end)
redis.register_function('nil', function() return nil + 1 end)"""
_REGISTRATIONS = (
    "local x",
    "x = 1",
    "redis.call('get', 'x')",
    "error('x')",
    "local a\nlocal b = a.b",
    "return +",
    "redis.register_function()",
    "redis.register_function('f')",
    "redis.register_function('f', 'g')",
    "redis.register_function({}, function() end)",
    "redis.register_function('f-', function() end)",
    "redis.register_function('', function() end)",
    "redis.register_function(7, function() return 7 end)",
    "redis.register_function('f', function() end, 1)",
    "redis.register_function('f', function() end) redis.register_function('f', function() end)",
    "redis.register_function{}",
    "redis.register_function{function_name='f'}",
    "redis.register_function{callback=function() end}",
    "redis.register_function{function_name={}, callback=function() end}",
    "redis.register_function{function_name='f', callback=1}",
    "redis.register_function{function_name='f', callback=function() end, x=1}",
    "redis.register_function{function_name='f', callback=function() end, [true]=1}",
    "redis.register_function{function_name='f', callback=function() end, flags='no-writes'}",
    "redis.register_function{function_name='f', callback=function() end, flags={'no-writes', 'x'}}",
    "redis.register_function{FUNCTION_NAME='count', callback=function() end, description={}}",
    "redis.register_function('Count', function() return 'another' end)",
    "redis.register_function('f', function(...) return select('#', ...) end)",
)

SCRIPT_POOLS: dict[str, Sequence[str | bytes]] = {
    "library": [
        *[_CALLS, _CALLS, _FLAGGED, _FLAGGED, _FAILING, _FAILING],
        *(f"#!lua name=l\n{code}" for code in _REGISTRATIONS),
        *["return 1", "#!lua", "#!lua\n", "#!lua name=\n", "#!lua name=a-b\n", "#!lua x=1\n", "#!js name=l\n"],
        *["#!lua name=l name=m\n", "#!\n", "#! lua name=l\n", "#!LUA NAME=l\nreturn 1", "x"],
    ],
    "library_name": ["calls", "flagged", "failing", "l", "L", "x"],
    "function": [
        *["call", "pcall", "count", "COUNT", "set", "get", "forbidden", "rich", "text", "number", "table", "reply"],
        *["incr", "global", "absent", "late", "nested", "nil", "f", "7", "x"],
    ],
    "script": [
        *["return redis.call('get', KEYS[1])", "return redis.pcall('incr', KEYS[1])", "return {1.9, false, 'x'}"],
        *[
            "return redis.call('set', KEYS[1], ARGV[1])",
            "return redis.call('incr', KEYS[1])",
            "return ARGV",
            "return +",
        ],
        "#!lua flags=no-writes\nreturn redis.call('set', KEYS[1], 1)",
        "#!lua flags=no-writes\nreturn redis.call('get', KEYS[1])",
        "#!lua flags=x\nreturn 1",
        "local r = redis.pcall('lpush', KEYS[1], 'x') return type(r) == 'table' and r.err or r",
        "redis.call('set', KEYS[1], 'left') return redis.call('nosuch')",
        "redis.call('del', KEYS[1]) error('oops')",
        "redis.setresp(3) local r = redis.call('get', KEYS[1]) return {r == nil, true, false, r}",
        "redis.setresp(3) redis.setresp(2) return redis.call('get', KEYS[1]) == false",
        "redis.setresp(4)",
        "return {double=tonumber(ARGV[1]) or 1.5}",
        "return {map={[ARGV[1]]={set={x=true}}}}",
        "return {1, {big_number='12\\n3'}, {verbatim_string={string=ARGV[1], format='mk'}}, {double='x'}}",
    ],
    "digest": ["e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "x" * 40, "x", "4e6d8fc8bb01276962cce5371fa795a7763657ae"],
}

FUNCTIONS = """
    FUNCTION LOAD [ REPLACE ] {library}
    FUNCTION LOAD (REPLACE|REPLACE|REPLACE|x) {library}
    FUNCTION LIST [ (LIBRARYNAME|libraryname) (calls|l*|[cl]*|F*|x) ] [ WITHCODE ]
    FUNCTION DELETE {library_name}
    FUNCTION (STATS|KILL|HELP|x)
    FUNCTION FLUSH [ (SYNC|async|x) ]
    FUNCTION RESTORE {v} [ (FLUSH|APPEND|REPLACE|x) ]
    (FCALL|FCALL|FCALL_RO) {function} 1 {k} {v}
    (FCALL|FCALL|FCALL_RO) {function} 1 {k} {v}
    (FCALL|FCALL|FCALL_RO) {function} 1 {k} {v}
    (FCALL|FCALL_RO) (call|pcall) 0 (SET|GET|INCR|LPUSH|DEL|EVAL|x) {k} [ {v} ]
    (FCALL|FCALL_RO) {function} {num} < {k} > [ {v} ]
"""

SCRIPTS = """
    (EVAL|EVAL|EVAL_RO) {script} 1 {k} {v}
    (EVAL|EVAL|EVAL_RO) {script} 1 {k} {v}
    (EVAL|EVAL_RO) {script} {num} < {k} > [ {v} ]
    (EVALSHA|EVALSHA_RO) {digest} 1 {k}
    SCRIPT (LOAD|load) {script}
    SCRIPT EXISTS < {digest} >
    SCRIPT (FLUSH|KILL|x) [ (SYNC|x) ]
"""
