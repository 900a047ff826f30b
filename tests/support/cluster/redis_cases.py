"""Replies of a Valkey 9.1 server that a model gets wrong easily; most of them this project's model did get wrong.

Each case is a title and steps: a command and the server's reply to it.
"""

from support.cluster.redis_script_cases import SCRIPT_CASES, WRONG_TYPE

from zonelab.engine.ports import ServerError

SYNTAX = ServerError("ERR syntax error")
NOT_AN_INTEGER = ServerError("ERR value is not an integer or out of range")
NOT_A_FLOAT = ServerError("ERR value is not a valid float")


def score(given, printed):
    return (("ZADD", "s", given, "m"), 1), (("ZSCORE", "s", "m"), printed), (("DEL", "s"), 1)


FILLED = (("ZADD", "z", 1, "a", 2, "b", 3, "c"), 3)

CASES = [
    (
        "whole scores are printed as integers up to 2**62",
        [*score("1e15", b"1000000000000000"), *score("4e18", b"4000000000000000000")],
    ),
    (
        "whole scores above 2**62 are printed by their digits",
        [*score("5e18", b"5e+18"), *score("9223372036854775807", b"9223372036854776000")],
    ),
    (
        "scores of a sorted set that was sorted, is large, or met a long member are scanned with 17 digits",
        [
            (("ZADD", "due", "1000000000000.56", "x"), 1),
            (("ZSCAN", "due", 0), [b"0", [b"x", b"1000000000000.56"]]),
            (("SORT", "due", "ALPHA"), [b"x"]),
            (("ZSCAN", "due", 0), [b"0", [b"x", b"1000000000000.5601"]]),
            (("ZSCORE", "due", "x"), b"1000000000000.56"),
            (("ZADD", "long", "0.1", "x"), 1),
            (("ZADD", "long", "XX", "0.1", "y" * 65), 0),
            (("ZSCAN", "long", 0), [b"0", [b"x", b"0.10000000000000001"]]),
            (("ZADD", "large", *["0.1", "x"] * 129), 1),
            (("ZSCAN", "large", 0), [b"0", [b"x", b"0.10000000000000001"]]),
        ],
    ),
    ("a due time with a priority keeps two decimals", [*score("1620078645956.01", b"1620078645956.01")]),
    (
        "small scores change to an exponent by the server's own rule",
        [
            *score("0.000001", b"0.000001"),
            *score("0.0000012", b"1.2e-6"),
            *score("1234567.1234567", b"1.2345671234567e+6"),
        ],
    ),
    (
        "a score may have more digits than the shortest",
        [*score("0.50877", b"0.5087699999999999"), *score("1700603760735.0312", b"1700603760735.0313")],
    ),
    (
        "subnormal scores are kept and smaller ones refused",
        [*score("4.9e-324", b"5e-324"), (("ZADD", "s", "1e-400", "m"), NOT_A_FLOAT)],
    ),
    (
        "infinite scores have many spellings and one print",
        [*score("+Inf", b"inf"), *score("-infinity", b"-inf"), (("ZADD", "s", "nan", "m"), NOT_A_FLOAT)],
    ),
    (
        "no score is a negative zero, but the reply to an increment may be one",
        [*score("-0", b"0"), (("ZINCRBY", "s", "-0", "m"), b"-0"), (("ZSCORE", "s", "m"), b"0")],
    ),
    (
        "a score in a large sorted set, or one that met a long member, may be a negative zero",
        [
            (("ZADD", "large", *(word for rank in range(1, 129) for word in (rank, f"m{rank}"))), 128),
            (("ZADD", "large", "-0", "x"), 1),
            (("ZSCORE", "large", "x"), b"-0"),
            (("ZADD", "large", "CH", "0", "x"), 0),
            (("ZADD", "large", "0", "w"), 1),
            (("ZRANGE", "large", "-0", "0", "BYSCORE", "WITHSCORES"), [b"w", b"0", b"x", b"-0"]),
            (("ZADD", "long", "-0", "x"), 1),
            (("ZADD", "long", 1, "y" * 65), 1),
            (("ZSCORE", "long", "x"), b"0"),
            (("ZADD", "long", "-0", "w"), 1),
            (("ZPOPMIN", "long"), [b"w", b"-0"]),
        ],
    ),
    (
        "hexadecimal is no score, but a number for INCRBYFLOAT",
        [
            (("ZADD", "s", "0x10", "m"), NOT_A_FLOAT),
            (("ZADD", "s", "0x1.8p1", "m"), NOT_A_FLOAT),
            (("INCRBYFLOAT", "f", "0x10"), b"16"),
            (("INCRBYFLOAT", "f", "-0x1.8P1"), b"13"),
            (("INCRBYFLOAT", "f", "0x.8"), b"13.5"),
            (("INCRBYFLOAT", "f", "0x0p-99999"), b"13.5"),
            *(
                (("INCRBYFLOAT", "f", wrong), NOT_A_FLOAT)
                for wrong in ("0x", "0xp1", "0x1p", "0x1p-99999", "0xfp99999")
            ),
        ],
    ),
    (
        "INCRBYFLOAT calculates with long doubles and prints 17 decimals",
        [(("SET", "f", "3.0e3"), b"OK"), (("INCRBYFLOAT", "f", "0.1"), b"3000.10000000000000009")],
    ),
    (
        "a number beyond a long double is none",
        [
            (("SET", "f", "3.0e30000"), b"OK"),
            (("INCRBYFLOAT", "f", 0), NOT_A_FLOAT),
            (("INCRBYFLOAT", "g", "1e-30000"), NOT_A_FLOAT),
            (("HINCRBYFLOAT", "h", "f", "-1e30000"), NOT_A_FLOAT),
        ],
    ),
    ("an increment of a fresh counter prints no negative zero", [(("INCRBYFLOAT", "f", "-5e-18"), b"0")]),
    (
        "ZADD NX leaves a member that is there",
        [FILLED, (("ZADD", "z", "NX", 9, "a", 9, "d"), 1), (("ZSCORE", "z", "a"), b"1")],
    ),
    (
        "ZADD XX adds nothing and makes no key",
        [(("ZADD", "z", "XX", 1, "a"), 0), (("EXISTS", "z"), 0), (("ZADD", "z", "XX", "INCR", 1, "a"), None)],
    ),
    (
        "ZADD GT and LT add what is new",
        [
            FILLED,
            (("ZADD", "z", "GT", "CH", 0, "a", 5, "b", 7, "d"), 2),
            (("ZADD", "z", "LT", "CH", 0, "a", 9, "b"), 1),
        ],
    ),
    (
        "ZADD CH counts changes, ZADD alone additions",
        [FILLED, (("ZADD", "z", 4, "a", 4, "d"), 1), (("ZADD", "z", "CH", 5, "a", 4, "d", 6, "e"), 2)],
    ),
    (
        "ZADD INCR answers the score, or nil when a flag forbade it",
        [FILLED, (("ZADD", "z", "INCR", 1.5, "a"), b"2.5"), (("ZADD", "z", "NX", "INCR", 1, "a"), None)],
    ),
    (
        "conflicting flags of ZADD are told before a score is read",
        [
            (
                ("ZADD", "z", "NX", "XX", "x", "a"),
                ServerError("ERR XX and NX options at the same time are not compatible"),
            ),
            (
                ("ZADD", "z", "NX", "GT", 1, "a"),
                ServerError("ERR GT, LT, and/or NX options at the same time are not compatible"),
            ),
            (
                ("ZADD", "z", "INCR", 1, "a", 2, "b"),
                ServerError("ERR INCR option supports a single increment-element pair"),
            ),
            (("ZADD", "z", 1, "a", 2), SYNTAX),
        ],
    ),
    (
        "SORT ALPHA lists sets, lists and sorted sets by their bytes",
        [
            (("SADD", "set", "b", "10", "9", "B", "\xe9", "a"), 6),
            (("SORT", "set", "ALPHA"), [b"10", b"9", b"B", b"a", b"b", b"\xc3\xa9"]),
            (("SORT", "set", "alpha", "desc", "LIMIT", 1, 2), [b"b", b"a"]),
            (("SORT", "set", "LIMIT", -1, -1, "ALPHA", "ASC"), [b"10", b"9", b"B", b"a", b"b", b"\xc3\xa9"]),
            (("RPUSH", "list", "b", "a", "b"), 3),
            (("SORT", "list", "ALPHA"), [b"a", b"b", b"b"]),
            FILLED,
            (("SORT", "z", "ALPHA", "DESC"), [b"c", b"b", b"a"]),
            (("SORT", "absent", "ALPHA"), []),
        ],
    ),
    (
        "SORT refuses other types and words that it does not know",
        [
            (("SET", "k", "v"), b"OK"),
            (("SORT", "k", "ALPHA"), WRONG_TYPE),
            (("SORT", "k", "BETA"), SYNTAX),
            (("SORT", "k", "ALPHA", "LIMIT", 0), SYNTAX),
            (("SORT", "k", "LIMIT", "x", 1, "ALPHA"), NOT_AN_INTEGER),
            (("SORT",), ServerError("ERR wrong number of arguments for 'sort' command")),
        ],
    ),
    ("ZINCRBY takes a flag of ZADD for one", [(("ZINCRBY", "z", "xx", "a"), SYNTAX)]),
    (
        "scores are checked before the type of the key",
        [(("SET", "k", "v"), b"OK"), (("ZADD", "k", "x", "a"), NOT_A_FLOAT), (("ZADD", "k", 1, "a"), WRONG_TYPE)],
    ),
    (
        "an increment to no number is refused",
        [
            (("ZADD", "z", "inf", "a"), 1),
            (("ZINCRBY", "z", "-inf", "a"), ServerError("ERR resulting score is not a number (NaN)")),
        ],
    ),
    (
        "a negative count of LIMIT means all, a negative offset nothing",
        [
            FILLED,
            (("ZRANGEBYSCORE", "z", "-inf", "+inf", "LIMIT", 1, -5), [b"b", b"c"]),
            (("ZRANGEBYSCORE", "z", "-inf", "+inf", "LIMIT", -1, 2), []),
            (("ZREVRANGEBYSCORE", "z", "+inf", "-inf", "LIMIT", 1, 1), [b"b"]),
            (("ZRANGEBYSCORE", "z", "-inf", "+inf", "LIMIT", 1), SYNTAX),
        ],
    ),
    (
        "LIMIT needs BYSCORE or BYLEX unless its count is -1",
        [
            FILLED,
            (
                ("ZRANGE", "z", 0, -1, "LIMIT", 0, 1),
                ServerError("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"),
            ),
            (("ZRANGE", "z", 0, -1, "LIMIT", 0, -1), [b"a", b"b", b"c"]),
        ],
    ),
    (
        "bounds may be exclusive or infinite, empty is 0 and too large is infinite",
        [
            FILLED,
            (("ZRANGEBYSCORE", "z", "(1", "(3", "WITHSCORES"), [b"b", b"2"]),
            (("ZCOUNT", "z", "", "(inf"), 3),
            (("ZCOUNT", "z", "-1e400", "1e400"), 3),
            (("ZCOUNT", "z", "nan", 1), ServerError("ERR min or max is not a float")),
        ],
    ),
    (
        "negative indexes count from the end",
        [
            FILLED,
            (("ZRANGE", "z", -2, -1), [b"b", b"c"]),
            (("ZREVRANGE", "z", -2, -1, "WITHSCORES"), [b"b", b"2", b"a", b"1"]),
            (("ZREMRANGEBYRANK", "z", -1, -1), 1),
            (("RPUSH", "l", "x", "y"), 2),
            (("LINDEX", "l", -1), b"y"),
            (("LRANGE", "l", -100, -2), [b"x"]),
            (("LSET", "l", -3, "z"), ServerError("ERR index out of range")),
        ],
    ),
    (
        "LSET keeps 32 bits of its index",
        [
            (("RPUSH", "l", "x"), 1),
            (("LSET", "l", -(2**63), "y"), b"OK"),
            (("LSET", "l", 2**63 - 1, "z"), b"OK"),
            (("LRANGE", "l", 0, -1), [b"z"]),
        ],
    ),
    (
        "LREM refuses a count that cannot be negated",
        [
            (
                ("LREM", "l", -(2**63), "x"),
                ServerError(
                    "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
                ),
            )
        ],
    ),
    ("an empty string is no number", [(("SET", "k", ""), b"OK"), (("INCR", "k"), NOT_AN_INTEGER)]),
    (
        "integers have one spelling",
        [
            (("INCRBY", "k", "01"), NOT_AN_INTEGER),
            (("INCRBY", "k", "+1"), NOT_AN_INTEGER),
            (("INCRBY", "k", "-0"), NOT_AN_INTEGER),
            (("INCRBY", "k", " 1"), NOT_AN_INTEGER),
        ],
    ),
    (
        "counters do not overflow",
        [
            (("SET", "k", 2**63 - 1), b"OK"),
            (("INCR", "k"), ServerError("ERR increment or decrement would overflow")),
            (("DECRBY", "k", -(2**63)), ServerError("ERR decrement would overflow")),
        ],
    ),
    (
        "GETEX reads its time before it looks at the key",
        [
            (("RPUSH", "l", "x"), 1),
            (("GETEX", "l", "EX", 0), ServerError("ERR invalid expire time in 'getex' command")),
            (("GETEX", "none", "EX", "x"), NOT_AN_INTEGER),
        ],
    ),
    (
        "one command answers a wrong number of words by its name",
        [
            (("HSET", "h", "f"), ServerError("ERR wrong number of arguments for 'hset' command")),
            (("ZRANK", "z", "a", "b", "c"), ServerError("ERR wrong number of arguments for 'zrank' command")),
            (("ZPOPMIN", "z", 1, 2), SYNTAX),
        ],
    ),
    (
        "an unknown command is told with its first words",
        [(("FOO", "a", "b"), ServerError("ERR unknown command 'FOO', with args beginning with: 'a' 'b' "))],
    ),
    (
        "line ends in an error become blanks inside and vanish outside",
        [
            (("foo\r\nx",), ServerError("ERR unknown command 'foo  x', with args beginning with: ")),
            (("EXPIRE", "k", 1, "\r"), ServerError("ERR Unsupported option ")),
        ],
    ),
    ("an error text ends at a zero byte", [(("EXPIRE", "k", 1, b"a\x00b"), ServerError("ERR Unsupported option a"))]),
    (
        "a cursor is what C takes for a number",
        [
            (("SCAN", " 1"), [b"0", []]),
            (("SCAN", "-1"), ServerError("ERR invalid cursor")),
            (("HSCAN", "none", "x"), ServerError("ERR invalid cursor")),
            (("HSCAN", "none", -(2**63)), ServerError("ERR invalid cursor")),
            (("HSCAN", "none", -(2**63) - 1), [b"0", []]),
            (("HSCAN", "none", -(2**64)), ServerError("ERR invalid cursor")),
            (("HSCAN", "none", "9" * 5000), ServerError("ERR invalid cursor")),
        ],
    ),
    (
        "ZSCAN may leave out scores, and HSCAN values",
        [
            (("ZADD", "z", 1, "a"), 1),
            (("ZSCAN", "z", 0, "noscores", "COUNT", 1), [b"0", [b"a"]]),
            (("ZSCAN", "z", 0, "NOVALUES"), ServerError("ERR NOVALUES option can only be used in HSCAN")),
            (("SCAN", 0, "NOSCORES"), ServerError("ERR NOSCORES option can only be used in ZSCAN")),
        ],
    ),
    (
        "bytes in the ranges of a pattern are signed",
        [
            (("MSET", "a", 1, b"\x80", 2, b"\xff", 3), b"OK"),
            (("KEYS", b"[\x80-\x7f]"), [b"a", b"\x80", b"\xff"]),
            (("KEYS", b"[\x01-\xff]"), [b"\xff"]),
            (("KEYS", b"[^\x01-\xff]"), [b"a", b"\x80"]),
        ],
    ),
    (
        "a pattern has up to 1,000 stars, not counting those that follow another or end it",
        [
            (("SET", "a" * 1001, "v"), b"OK"),
            (("KEYS", "*a" * 1000 + "**"), [b"a" * 1001]),
            (("KEYS", "a" + "**a" * 1000), [b"a" * 1001]),
            (("KEYS", "*a" * 1001), []),
        ],
    ),
    (
        "SRANDMEMBER takes any negative count that has a positive one",
        [
            (("SRANDMEMBER", "none", -(2**63) + 1), []),
            (
                ("SRANDMEMBER", "none", -(2**63)),
                ServerError(f"ERR value is out of range, value must between {-(2**63) + 1} and {2**63 - 1}"),
            ),
            (("SRANDMEMBER", "none", -(2**63) - 1), NOT_AN_INTEGER),
        ],
    ),
    (
        "the empty key matches one star, not two",
        [(("SET", "", "v"), b"OK"), (("KEYS", "*"), [b""]), (("KEYS", "**"), [])],
    ),
    (
        "a count of 0 pops nothing but is a list",
        [
            (("RPUSH", "l", "x"), 1),
            (("LPOP", "l", 0), []),
            (("LPOP", "none", 0), None),
            (("LPOP", "l", -1), ServerError("ERR value is out of range, must be positive")),
        ],
    ),
    (
        "a range of members that begins at the end, or ends at the beginning, is empty",
        [
            (("ZADD", "z", 0, "a", 0, "b"), 2),
            (("ZRANGEBYLEX", "z", "+", "+"), []),
            (("ZRANGEBYLEX", "z", "-", "-"), []),
            (("ZREVRANGEBYLEX", "z", "-", "+"), []),
            (("ZREVRANGEBYLEX", "z", "+", "-"), [b"b", b"a"]),
            (("ZLEXCOUNT", "z", "+", "+"), 0),
            (("ZLEXCOUNT", "z", "-", "(b"), 1),
            (("ZREMRANGEBYLEX", "z", "+", "+"), 0),
            (("ZREMRANGEBYLEX", "z", "(a", "+"), 1),
        ],
    ),
    (
        "an element is found by its rank, from either end, within so many",
        [
            (("RPUSH", "l", "a", "b", "a", "c", "a"), 5),
            (("LPOS", "l", "a"), 0),
            (("LPOS", "l", "a", "RANK", 2), 2),
            (("LPOS", "l", "a", "RANK", -1), 4),
            (("LPOS", "l", "a", "RANK", 4), None),
            (("LPOS", "l", "a", "COUNT", 0), [0, 2, 4]),
            (("LPOS", "l", "a", "RANK", -2, "COUNT", 2), [2, 0]),
            (("LPOS", "l", "a", "COUNT", 0, "MAXLEN", 3), [0, 2]),
            (("LPOS", "l", "a", "RANK", -1, "COUNT", 0, "MAXLEN", 3), [4, 2]),
            (("LPOS", "l", "a", "COUNT"), SYNTAX),
            (("LPOS", "l", "c", "MAXLEN", 4), 3),
            (("LPOS", "l", "a", "FOO", 1), SYNTAX),
        ],
    ),
    *SCRIPT_CASES,
]
