"""What scripts on a Valkey 9.1 server answer and leave behind: a part of ``redis_cases``, in the same form."""

from engine.ports import ServerError

WRONG_TYPE = ServerError("WRONGTYPE Operation against a key holding the wrong kind of value")
IN_SCRIPT = " script: on @user_script:1."


def script(body, reply, *args):
    return ("EVAL", body, 0, *args), reply


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
