"""What scripts on a Valkey 9.1 server answer and leave behind: a part of ``redis_cases``, in the same form."""

from zonelab.engine.ports import ServerError

WRONG_TYPE = ServerError("WRONGTYPE Operation against a key holding the wrong kind of value")
IN_SCRIPT = " script: on @user_script:1."


def script(body, reply, *args):
    return ("EVAL", body, 0, *args), reply


def failing(call, error, prefix="ERR "):
    """``call`` in a script raises ``error``; as its value is returned at once, no frame of the script is left."""
    return script(f"return {call}", ServerError(f"{prefix}{error}{IN_SCRIPT}"))


def misused(function, given, problem, number=1):
    """A function of Lua's own complains about an argument."""
    name = function.rpartition(".")[2]
    return failing(f"{function}({given})", f"bad argument #{number} to '{name}' ({problem})", "ERR user_script:1: ")


def failing_line(call, problem):
    """``call`` raises an error at the line of the script."""
    return script(f"local x = {call}", ServerError(f"ERR user_script:1: {problem}{IN_SCRIPT}"))


NO_WRITES = "#!lua flags=no-writes\n"
READ_ONLY = ServerError("ERR Write commands are not allowed from read-only scripts. script: on @user_script:2.")
FLAGS_OF_REPLICATION = "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."

SCRIPT_CASES = [
    (
        "Lua numbers lose their fraction on the way out",
        [script("return 1.9", 1), script("return -1.9", -1), script("return {3.99, '3.99'}", [3, b"3.99"])],
    ),
    (
        "Lua numbers that fit no integer become the smallest one",
        [script("return 2^63", -(2**63)), script("return 0/0", -(2**63)), script("return -1e300", -(2**63))],
    ),
    (
        "true is 1, false and nil are nil, and a table ends at its first nil",
        [script("return true", 1), script("return false", None), script("return {1, false, 2, nil, 4}", [1, None, 2])],
    ),
    (
        "tables with ok or err are a status or an error, only if they are strings",
        [
            script("return {ok='fine'}", b"fine"),
            script("return {err='ERR no'}", ServerError("ERR no")),
            script("return {ok=1}", []),
            script("return {1, {err='E x'}}", [1, ServerError("E x")]),
        ],
    ),
    (
        "error_reply adds a code where there is none",
        [
            script("return redis.error_reply('oh')", ServerError("ERR oh")),
            script("return redis.error_reply('-MY oh')", ServerError("MY oh")),
            script("return redis.status_reply('S')", b"S"),
        ],
    ),
    (
        "a script sees nil as false and a status as a table",
        [
            script("return type(redis.call('GET', 'k'))", b"boolean"),
            script("return redis.call('SET', 'k', 'v')['ok']", b"OK"),
        ],
    ),
    (
        "numbers for commands are written as the server writes them, not as Lua does",
        [
            script("redis.call('SET', 'k', 0.1) return redis.call('GET', 'k')", b"0.1"),
            script("redis.call('SET', 'k', 1e17) return redis.call('GET', 'k')", b"100000000000000000"),
            script("redis.call('SET', 'k', 1620078645956.01) return redis.call('GET', 'k')", b"1620078645956.01"),
            script("redis.call('SET', 'k', -0.0) return redis.call('GET', 'k')", b"0"),
            script("return tostring(1620078645956.01)", b"1620078645956"),
        ],
    ),
    (
        "redis.call raises with the line, redis.pcall answers",
        [
            (("RPUSH", "l", "x"), 1),
            script("return redis.call('GET', 'l')", ServerError(f"{WRONG_TYPE}{IN_SCRIPT}")),
            script("return redis.pcall('GET', 'l')", WRONG_TYPE),
            script("return redis.pcall('GET', 'l')['err']", str(WRONG_TYPE).encode()),
            script(
                "local ok, e = pcall(redis.call, 'GET', 'l') return {tostring(ok), e}",
                [b"false", str(WRONG_TYPE).encode()],
            ),
            script(
                "return redis.call('GET')",
                ServerError(f"ERR Wrong number of args calling command from script{IN_SCRIPT}"),
            ),
            script("return redis.call('FOO')", ServerError(f"ERR Unknown command called from script{IN_SCRIPT}")),
            script(
                "return redis.call('SET', 'k', true)",
                ServerError(f"ERR Command arguments must be strings or integers{IN_SCRIPT}"),
            ),
            script(
                "return redis.call('EVAL', 'return 1', '0')",
                ServerError(f"ERR This Valkey command is not allowed from script{IN_SCRIPT}"),
            ),
        ],
    ),
    (
        "errors of Lua carry their line",
        [
            script("error('boom')", ServerError(f"ERR user_script:1: boom{IN_SCRIPT}")),
            script("error({err='BOOM x'})", ServerError(f"BOOM x{IN_SCRIPT}")),
            script("error()", ServerError(f"ERR nil{IN_SCRIPT}")),
            script(
                "\n\nlocal t\nreturn t.x",
                ServerError("ERR user_script:4: attempt to index local 't' (a nil value) script: on @user_script:4."),
            ),
            script(
                "return 1 +",
                ServerError("ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'"),
            ),
        ],
    ),
    (
        "scripts cannot leave anything behind or look outside",
        [
            script("x = 1", ServerError(f"ERR user_script:1: Attempt to modify a readonly table{IN_SCRIPT}")),
            script("string.foo = 1", ServerError(f"ERR user_script:1: Attempt to modify a readonly table{IN_SCRIPT}")),
            script(
                "return io",
                ServerError(
                    f"ERR user_script:1: Script attempted to access nonexistent global variable 'io'{IN_SCRIPT}"
                ),
            ),
            script(
                "return os.time()",
                ServerError(f"ERR user_script:1: attempt to call field 'time' (a nil value){IN_SCRIPT}"),
            ),
        ],
    ),
    (
        "random numbers of scripts repeat from server to server",
        [script("math.randomseed(1) return {math.random(1000), math.random(1000)}", [42, 455])],
    ),
    (
        "math.random takes integers of 32 bits, also as text, and complains as Lua does",
        [
            script("math.randomseed('1') return {math.random(2, '3.9'), math.random(' 0x10 ')}", [2, 8]),
            script("math.randomseed(1) return math.random(1e10)", 58701509),
            script("math.randomseed(1) return math.random(-1e10, 1e10)", -1471463359),
            misused("math.random", "'x'", "number expected, got string"),
            misused("math.random", "1, nil", "number expected, got nil", 2),
            misused("math.random", "2, 1", "interval is empty", 2),
            misused("math.random", "0/0", "interval is empty"),
            misused("math.randomseed", "", "number expected, got no value"),
            misused("math.randomseed", "{}", "number expected, got table"),
            failing("math.random(1, 2, 3)", "wrong number of arguments", "ERR user_script:1: "),
        ],
    ),
    (
        "loadstring complains as Lua does, and errors name its chunk",
        [
            misused("loadstring", "", "string expected, got no value"),
            misused("loadstring", "nil", "string expected, got nil"),
            misused("loadstring", "'return 1', true", "string expected, got boolean", 2),
            script("return {loadstring('return 1', nil)(), loadstring(1) == nil}", [1, 1]),
            script(
                "loadstring('\\nerror(\"boom\")', '@part')()",
                ServerError("ERR part:2: boom script: on @part:2."),
            ),
        ],
    ),
    (
        "redis.sha1hex takes what is neither text nor number for the empty text",
        [
            script("return redis.sha1hex({})", b"da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            script("return redis.sha1hex(nil) == redis.sha1hex('')", 1),
            script("return redis.sha1hex(true) == redis.sha1hex('')", 1),
            script("return redis.sha1hex(1e20) == redis.sha1hex('1e+20')", 1),
            script("return redis.sha1hex(0/0) == redis.sha1hex('-nan')", 1),
            failing("redis.sha1hex()", "wrong number of arguments"),
        ],
    ),
    (
        "redis.log checks its level",
        [
            script("return redis.log(redis.LOG_WARNING, 'y', {})", None),
            script("return redis.log('3.9', 'y')", None),
            failing("redis.log('x')", "server.log() requires two arguments or more."),
            failing("redis.log('x', 'y')", "First argument must be a number (log level)."),
            failing("redis.log(-1, 'y')", "Invalid log level."),
            failing("server.log(4, 'y')", "Invalid log level."),
        ],
    ),
    (
        "redis.setresp knows two versions",
        [
            script("return redis.setresp('2')", None),
            failing("redis.setresp(4)", "RESP version must be 2 or 3."),
            failing("redis.setresp({})", "RESP version must be 2 or 3."),
            failing("redis.setresp()", "server.setresp() requires one argument."),
        ],
    ),
    (
        "redis.set_repl takes the constants of replication",
        [
            script("return {redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA}", [0, 1, 2, 2]),
            script("return {redis.REPL_ALL, redis.set_repl(redis.REPL_ALL)}", [3]),
            script("return redis.set_repl('x')", None),
            failing("redis.set_repl(4)", FLAGS_OF_REPLICATION),
            failing("redis.set_repl(-1)", FLAGS_OF_REPLICATION),
            failing("redis.set_repl(1, 2)", "server.set_repl() requires one argument."),
        ],
    ),
    (
        "redis.acl_check_cmd allows every command that there is",
        [
            script("return {redis.acl_check_cmd('get'), redis.acl_check_cmd('EVAL', 1)}", [1, 1]),
            failing("redis.acl_check_cmd('NOPE')", "Invalid command passed to server.acl_check_cmd()"),
            failing("redis.acl_check_cmd()", "Please specify at least one argument for this call"),
            failing("redis.acl_check_cmd('GET', {})", "Command arguments must be strings or integers"),
        ],
    ),
    (
        "a script knows the version of Redis that the server follows",
        [script("return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM}", [b"7.2.4", 459268])],
    ),
    (
        "a handler of xpcall gets the table of a failed command, and the text of other errors",
        [
            (("RPUSH", "l", "x"), 1),
            script(
                "local _, e = xpcall(function() redis.call('GET', 'l') end, function(e) return e end) return e",
                WRONG_TYPE,
            ),
            script(
                "return {xpcall(redis.call, function(e) return e.err end)}",
                [None, b"ERR Please specify at least one argument for this call"],
            ),
            script(
                "local _, e = xpcall(redis.call, function(e) return tostring(e.ignore_error_stats_update) end, 'GET')"
                " return {e, tostring(redis.pcall('GET', 'l').ignore_error_stats_update)}",
                [b"nil", b"true"],
            ),
            script("return {xpcall(function() error({err='E x'}) end, type)}", [None, b"table"]),
            script("return {xpcall(function() math.random(0) end, type)}", [None, b"string"]),
            script(
                "local f = function() redis.call('GET', 'l') end"
                " local _, e = coroutine.resume(coroutine.create(f)) return e.err",
                str(WRONG_TYPE).encode(),
            ),
        ],
    ),
    (
        "unpack counts its results as C does, and refuses what does not fit on the stack",
        [
            script("return {unpack({1, 2, 3}, '2')}", [2, 3]),
            script("return {unpack({5}, 2^32 + 1)}", [5]),
            script("return {select('#', unpack({5}, 2^31, 2^31)), select('#', unpack({5}, 1, 2^31))}", [1, 0]),
            script("return select('#', unpack({}, 1, 7000))", 7000),
            *(
                failing_line(f"unpack({words})", "too many results to unpack")
                for words in ("{}, 2^31", "{}, 1, 2^31 - 1", "{}, 1, 8000")
            ),
            failing_line("unpack()", "bad argument #1 to 'unpack' (table expected, got no value)"),
            failing_line("unpack({}, nil, 'x')", "bad argument #3 to 'unpack' (number expected, got string)"),
        ],
    ),
    (
        "rawset, pcall and xpcall check what they are given",
        [
            failing_line("rawset(1, 2)", "bad argument #1 to 'rawset' (table expected, got number)"),
            failing_line("rawset({}, 2)", "bad argument #3 to 'rawset' (value expected)"),
            failing_line("xpcall(1)", "bad argument #2 to 'xpcall' (value expected)"),
            script("return {pcall()}", [None, b"attempt to call a boolean value"]),
        ],
    ),
    (
        "an error that is a table is told by its text or number; pcall tells whatever else it has there as well",
        [
            script("error({err=5.5})", ServerError("5.5 script: on @user_script:1.")),
            script("local _, e, also = pcall(error, {err=5}) return {e, tostring(also)}", [5, b"nil"]),
            script("local _, e, also = pcall(error, {err={}}) return {type(e), type(also)}", [b"table", b"table"]),
        ],
    ),
    (
        "functions that answer nothing answer no nil either",
        [
            script(
                "return {select('#', redis.log(1, 'x')), select('#', redis.setresp(2)), select('#', redis.set_repl(3)),"
                " select('#', math.randomseed(1))}",
                [0, 0, 0, 0],
            )
        ],
    ),
    (
        "the first line of a script may say its language and what it does without",
        [
            script("#!lua\nreturn 1", 1),
            script("#!LUA  flags=allow-oom,allow-stale,no-cluster,allow-cross-slot-keys flags=\nreturn 1", 1),
            script(
                "#!lua\nx x",
                ServerError("ERR Error compiling script (new function): user_script:2: '=' expected near 'x'"),
            ),
            script("#!lua", ServerError("ERR Invalid script shebang")),
            script("#!lua flags=x\nreturn 1", ServerError("ERR Unexpected flag in script shebang: x")),
            script("#!lua flags=no-writes,\nreturn 1", ServerError("ERR Unexpected flag in script shebang: ")),
            script("#!lua name=x\nreturn 1", ServerError("ERR Unknown lua shebang option: name=x")),
            script("#! lua\nreturn 1", ServerError("ERR Unknown lua shebang option: lua")),
            script("#!js\nreturn 1", ServerError("ERR Could not find scripting engine 'js'")),
            (("SCRIPT", "LOAD", "#!js flags=x\n"), ServerError("ERR Unexpected flag in script shebang: x")),
        ],
    ),
    (
        "a script of the flag no-writes only reads",
        [
            (("SET", "k", "v"), b"OK"),
            script(f"{NO_WRITES}return redis.call('GET', 'k')", b"v"),
            script(f"{NO_WRITES}return redis.call('TTL', 'k')", -1),
            script(f"{NO_WRITES}return redis.call('SPOP', 'none')", READ_ONLY),
            script(f"{NO_WRITES}return redis.call('SORT', 'none', 'ALPHA')", READ_ONLY),
            script(
                f"{NO_WRITES}return redis.call('SET', 'k')",
                ServerError("ERR Wrong number of args calling command from script script: on @user_script:2."),
            ),
            (("SCRIPT", "LOAD", f"{NO_WRITES}redis.call('DEL', 'k')"), b"7188cba86437c777a3cc74789f3df831a04d4d59"),
            (("EVALSHA", "7188cba86437c777a3cc74789f3df831a04d4d59", 0), READ_ONLY),
            (("GET", "k"), b"v"),
        ],
    ),
    (
        "what a failing script did stays",
        [
            script("redis.call('SET', 'k', 'v') error('boom')", ServerError(f"ERR user_script:1: boom{IN_SCRIPT}")),
            (("GET", "k"), b"v"),
        ],
    ),
    (
        "a script is known by its digest until the cache is flushed",
        [
            (("SCRIPT", "LOAD", "return 1"), b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"),
            (("EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", 0), 1),
            (("SCRIPT", "EXISTS", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "x"), [1, 0]),
            (("SCRIPT", "FLUSH"), b"OK"),
            (("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", 0), ServerError("NOSCRIPT No matching script.")),
            (("EVALSHA", "e0", "1.5"), ServerError("NOSCRIPT No matching script.")),
        ],
    ),
    (
        "the number of keys of a script is checked",
        [
            (("EVAL", "return KEYS", 2, "a", "b", "c"), [b"a", b"b"]),
            (("EVAL", "return 1", 2, "a"), ServerError("ERR Number of keys can't be greater than number of args")),
            (("EVAL", "return 1", -1), ServerError("ERR Number of keys can't be negative")),
        ],
    ),
]
