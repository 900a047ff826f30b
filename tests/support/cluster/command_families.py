"""Drawn commands by family, as templates: ``SET {k} {v} [NX|XX] [EX {t}]``.

``{pool}`` is a word drawn from a pool, ``(a|b)`` one of several, ``[…]`` is there or not, ``<…>`` comes one to three
times. ``{k}`` is mostly a key of the family's own, so that types agree, and sometimes another's.
"""

from collections.abc import Callable, Sequence
from random import Random

from support.cluster.geo_families import GEO, GEO_POOLS, SKETCHES
from support.cluster.script_families import FUNCTIONS, SCRIPT_POOLS, SCRIPTS
from support.cluster.stream_families import STREAM_POOLS, STREAMS

Words = list[bytes]
_Draw = Callable[[Random, Words], None]

HUGE = ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "4294967296", "2147483648", "-2147483649"]
NO_INTEGERS = ["", "x", "1.0", "+1", "01", " 1", "-0", "1e3", "1\0"]
MEMBERS = ["x", "y", "z", "xx", "", "10", "-3", "0.5", b"\x01\xff\x00", "é", " 7", "9223372036854775807", "a\r\nb"]
KEYS = ["1", "2", "3", b"\xff\x00\r\n"]

POOLS: dict[str, Sequence[str | bytes]] = {
    "i": ["0", "1", "2", "3", "-1", "-2", "-5", "7", "100", *HUGE, *NO_INTEGERS],
    "n": ["1", "2", "3", "0", "1", "2", "-1", "4", "10", "9223372036854775807", "x", "-9223372036854775808"],
    "small": ["0", "1", "2", "3", "5", "-1", "-2", "-3", "x"],
    "m": MEMBERS,
    "v": [
        *MEMBERS,
        "hello world",
        "ohmytext",
        "mynewtext",
        "12",
        "3.0e3",
        "1e400",
        "value" * 20,
        "0",
        "5",
        "-7",
        b"\x80\x01",
    ],
    "f": [
        "0",
        "1",
        "2",
        "-1.5",
        "3.25",
        "inf",
        "-inf",
        "+inf",
        "1e5",
        "-0",
        ".5",
        "5.",
        "1e17",
        "1e-7",
        "0.1",
        "1620078645956.01",
        "4611686018427387904",
        "nan",
        "x",
        "",
        "0x10",
        "1e400",
        "1e-400",
        " 1",
    ],
    "b": ["-inf", "+inf", "0", "(0", "1", "(1", "2", "3.25", "(inf", "-1.5", "1e5", "", "(", "x", "nan", "1e400"],
    "lex": ["-", "+", "[x", "(x", "[y", "(z", "[", "(", "x", "", "[xx", "++", b"[\x01\xff"],
    "r": ["0", "-1", "1", "2", "-2", "-7", "7", "100", "x", "9223372036854775807", "-9223372036854775808"],
    "t": [
        *["1000", "5000000", "100000", "0", "-1", "-1000000", "x", "1.5"],
        *["9223372036854775807", "9223372036854776", "-9223372036854775808"],
    ],
    "at": ["4102444800", "4102444800000", "1", "-1", "0", "x", "9223372036854775807"],
    "pat": ["*", "?", "[a-c]*", "[^a]*", "s*", "\\s*", "[", "[a", "", "**", "*1", "h[12]", "[^", "*é*"],
    "bit": ["0", "1", "0", "1", "2", "-1", "x", ""],
    "offset": ["0", "1", "7", "8", "9", "63", "100", "4294967296", "-1", "x", "#1", "#0", "1000"],
    "type": ["u8", "i8", "u1", "i64", "u63", "u64", "i5", "i65", "u0", "x8", "i16", "u32", "i"],
    "step": ["1", "-1", "100", "200", "-200", "9223372036854775807", "-9223372036854775808"],
    **GEO_POOLS,
    "junk": ["FOO", "NX", "GET", "1", ""],
    "wrong": ["x", "", "é", "hello", "3.0e3", "1e400", "0", "-7", b"\x80\x01", "9223372036854775807", " 7"],
    **STREAM_POOLS,
    **SCRIPT_POOLS,
    "num": ["1", "2", "1", "2", "3", "0", "-1", "x", "9223372036854775807"],
}


def compiled(template: str, prefix: str) -> _Draw:
    """Return the function that appends the words of one drawn command."""
    parts, at = _sequence(template.split(), 0, "", prefix)
    assert at == len(template.split()), template
    return lambda random, words: [part(random, words) for part in parts] and None


def _sequence(tokens: list[str], at: int, end: str, prefix: str) -> tuple[list[_Draw], int]:
    parts: list[_Draw] = []
    while at < len(tokens) and tokens[at] != end:
        token = tokens[at]
        if token in ("[", "<"):
            inner, at = _sequence(tokens, at + 1, "]" if token == "[" else ">", prefix)
            parts.append(_maybe(inner) if token == "[" else _some(inner))
        else:
            parts.append(_word(token, prefix))
        at += 1
    return parts, at


def _word(token: str, prefix: str) -> _Draw:
    if token == "{k}":
        own = [prefix.encode() + _bytes(key) for key in KEYS]
        others = [*(letter.encode() + _bytes(KEYS[0]) for letter in PREFIXES.values()), b"none"]

        def key(random: Random, words: Words) -> None:
            words.append(random.choice(own if random.random() < 0.93 else others))

        return key
    if token.startswith("{"):
        pool = [_bytes(word) for word in POOLS[token[1:-1]]]
    else:
        pool = [_bytes(word) for word in token.strip("()").split("|")]
    return lambda random, words: words.append(random.choice(pool))


def _maybe(parts: list[_Draw]) -> _Draw:
    def draw(random: Random, words: Words) -> None:
        if random.random() < 0.5:
            for part in parts:
                part(random, words)

    return draw


def _some(parts: list[_Draw]) -> _Draw:
    def draw(random: Random, words: Words) -> None:
        for _ in range(random.randint(1, 3)):
            for part in parts:
                part(random, words)

    return draw


def _bytes(word: str | bytes) -> bytes:
    return word if isinstance(word, bytes) else word.encode()


PREFIXES = {
    "strings": "s",
    "bits": "s",
    "hashes": "h",
    "lists": "l",
    "sets": "e",
    "sorted_sets": "z",
    "geo": "g",
    "sketches": "p",
    "streams": "t",
}

TEMPLATES = {
    "strings": """
        GET {k}
        GET {k}
        SET {k} {v}
        SET {k} {v}
        SET {k} {v} [ (NX|XX|nx) ] [ GET ] [ (EX|PX|EXAT|PXAT|ex) {t} ] [ KEEPTTL ]
        SET {k} {v} IFEQ {v} [ GET ] [ NX ]
        SET {k} {v} (EX|PX) {t}
        (SETNX|GETSET|APPEND|DELIFEQ) {k} {v}
        (SETEX|PSETEX) {k} {t} {v}
        (STRLEN|GETDEL|INCR|DECR) {k}
        GETEX {k} [ (EX|PX|EXAT|PXAT) {t} ] [ PERSIST ]
        (INCRBY|DECRBY) {k} {i}
        INCRBYFLOAT {k} {f}
        (GETRANGE|SUBSTR) {k} {i} {r}
        SETRANGE {k} (0|1|5|12|-1|x|536870912|4294967296) {v}
        MGET < {k} >
        (MSET|MSETNX) < {k} {v} > [ {k} ]
        MSETEX {num} < {k} {v} > [ (NX|XX) ] [ (EX|PX|EXAT|PXAT) {t} ] [ KEEPTTL ]
        LCS {k} {k} [ LEN ] [ IDX ] [ MINMATCHLEN {small} ] [ WITHMATCHLEN ] [ {junk} ]
    """,
    "bits": """
        SETBIT {k} {offset} {bit}
        SETBIT {k} (0|1|7|8|23) (0|1)
        GETBIT {k} {offset}
        BITCOUNT {k} [ {r} [ {r} [ (BYTE|BIT|x) ] ] ]
        BITPOS {k} {bit} [ {r} [ {r} [ (BYTE|BIT|bit|x) ] ] ]
        BITOP (AND|OR|XOR|NOT|and|DIFF|x) {k} {k} [ < {k} > ]
        BITFIELD {k} [ OVERFLOW (WRAP|SAT|FAIL|x) ] < (GET|get) {type} {offset} >
        BITFIELD {k} [ OVERFLOW (WRAP|SAT|FAIL) ] < SET {type} {offset} {i} >
        BITFIELD {k} [ OVERFLOW (WRAP|SAT|FAIL) ] < INCRBY (u8|i8|u2|i64|u63|i5) (0|1|#1|#2|9) {step} > [ GET u8 0 ]
        BITFIELD_RO {k} < (GET|SET) {type} {offset} > [ 1 ]
        SET {k} {v}
        GET {k}
        STRLEN {k}
    """,
    "hashes": """
        (HSET|HMSET) {k} < {m} {v} > [ {m} ]
        HSET {k} < {m} {v} >
        HSETNX {k} {m} {v}
        (HGET|HEXISTS|HSTRLEN) {k} {m}
        (HMGET|HDEL) {k} < {m} >
        (HGETALL|HKEYS|HVALS|HLEN) {k}
        HINCRBY {k} {m} {i}
        HINCRBYFLOAT {k} {m} {f}
        HSCAN {k} 0 COUNT 1000 [ MATCH {pat} ] [ NOVALUES ]
        HRANDFIELD {k} [ {n} [ (WITHVALUES|x) ] ]
        (HEXPIRE|HPEXPIRE) {k} {t} [ (NX|XX|GT|LT|x) ] FIELDS {num} < {m} >
        (HEXPIREAT|HPEXPIREAT) {k} {at} [ (NX|XX|GT|LT|x) ] FIELDS {num} < {m} >
        (HTTL|HPTTL|HEXPIRETIME|HPEXPIRETIME|HPERSIST|HGETDEL) {k} (FIELDS|fields|x) {num} < {m} >
        HSETEX {k} [ (NX|XX) ] [ (FNX|FXX) ] [ (EX|PX|EXAT|PXAT) {t} ] [ KEEPTTL ] FIELDS {num} < {m} {v} >
        HGETEX {k} [ (EX|PX|EXAT|PXAT) {t} ] [ PERSIST ] FIELDS {num} < {m} >
    """,
    "lists": """
        (LPUSH|RPUSH|LPUSHX|RPUSHX) {k} < {m} >
        (RPUSH|LPUSH) {k} < {m} >
        (LPOP|RPOP) {k} [ {n} [ {n} ] ]
        LLEN {k}
        (LRANGE|LTRIM) {k} {r} {r}
        LINDEX {k} {i}
        LSET {k} {r} {m}
        LINSERT {k} (BEFORE|after|x) {m} {m}
        LREM {k} {i} {m}
        RPOPLPUSH {k} {k}
        LMOVE {k} {k} (LEFT|right|x) (left|RIGHT)
        LPOS {k} {m} [ RANK {i} ] [ COUNT {i} ] [ MAXLEN {i} ] [ {junk} ]
        LMPOP {num} < {k} > (LEFT|RIGHT|x) [ COUNT {n} ]
        SORT {k} [ BY (nosort|s*|h*->x|x*) ] < [ GET (#|s*|h*->x|none) ] > [ (ASC|DESC) ] [ ALPHA ] [ STORE {k} ]
        SORT {k} [ LIMIT {r} {n} ] [ GET (#|s*) ] [ (ASC|DESC) ] [ ALPHA ] [ STORE {k} ]
        SORT_RO {k} [ BY (nosort|s*|h*->x|x*) ] [ GET (#|s*|h*->x) ] [ (ASC|DESC) ] [ ALPHA ] [ STORE {k} ]
    """,
    "streams": STREAMS,
    "functions": FUNCTIONS,
    "scripts": SCRIPTS,
    "sets": """
        (SADD|SREM|SMISMEMBER) {k} < {m} >
        SADD {k} < (1|2|3|17|-5|70000|5000000000) >
        SADD {k} < {m} >
        SISMEMBER {k} {m}
        (SMEMBERS|SCARD) {k}
        SMOVE {k} {k} {m}
        SPOP {k} [ {n} ]
        SRANDMEMBER {k} [ (1|2|-3|0|x|-9223372036854775808|100) ]
        (SUNION|SINTER|SDIFF) < {k} >
        (SUNIONSTORE|SINTERSTORE|SDIFFSTORE) {k} < {k} >
        SINTERCARD {num} < {k} > [ LIMIT {n} ]
        SSCAN {k} 0 COUNT 1000 [ MATCH {pat} ]
        SORT {k} [ LIMIT {r} {n} ] [ ALPHA ] [ DESC ] [ STORE {k} ]
    """,
    "sorted_sets": """
        ZADD {k} [ (NX|XX) ] [ (GT|LT) ] [ CH ] [ INCR ] < {f} {m} > [ {f} ]
        ZADD {k} < (0|1|2|3.5|-1|inf) {m} >
        ZADD {k} < (0|1|2|3.5|-1|inf) {m} >
        ZADD {k} < 0 {m} >
        ZINCRBY {k} {f} {m}
        (ZREM|ZMSCORE) {k} < {m} >
        ZSCORE {k} {m}
        ZCARD {k}
        (ZRANK|ZREVRANK) {k} {m} [ (WITHSCORE|x) ]
        (ZPOPMIN|ZPOPMAX) {k} [ {n} ]
        (ZRANGE|ZREVRANGE) {k} {r} {r} [ WITHSCORES ] [ LIMIT {small} {small} ] [ REV ]
        ZRANGE {k} {b} {b} BYSCORE [ REV ] [ LIMIT {small} {small} ] [ WITHSCORES ]
        (ZRANGEBYSCORE|ZREVRANGEBYSCORE) {k} {b} {b} [ (WITHSCORES|FOO) ] [ LIMIT {small} {small} ]
        (ZCOUNT|ZREMRANGEBYSCORE) {k} {b} {b}
        ZREMRANGEBYRANK {k} {r} {r}
        ZSCAN {k} 0 COUNT 1000 [ MATCH {pat} ] [ NOSCORES ]
        ZMPOP {num} < {k} > (MIN|MAX|x) [ COUNT {n} ]
        (ZUNION|ZINTER) {num} < {k} > [ WEIGHTS {f} {f} ] [ AGGREGATE (SUM|MIN|MAX|x) ] [ WITHSCORES ]
        (ZUNION|ZINTER) 2 {k} {k} [ WEIGHTS {f} {f} ] [ AGGREGATE (SUM|MIN|MAX|x) ] [ WITHSCORES ]
        ZDIFF {num} < {k} > [ WITHSCORES ]
        (ZUNIONSTORE|ZINTERSTORE) {k} 2 {k} {k} [ WEIGHTS {f} {f} ] [ AGGREGATE (SUM|MIN|MAX|x) ] [ WITHSCORES ]
        ZDIFFSTORE {k} {num} < {k} >
        ZINTERCARD {num} < {k} > [ LIMIT {n} ]
        ZRANGESTORE {k} {k} {r} {r} [ REV ]
        ZRANGESTORE {k} {k} {b} {b} BYSCORE [ REV ] [ LIMIT {small} {small} ] [ WITHSCORES ]
        ZRANDMEMBER {k} [ {n} [ (WITHSCORES|x) ] ]
        SORT {k} [ BY (nosort|x) ] [ LIMIT {r} {n} ] [ ALPHA ] [ DESC ] [ STORE {k} ]
    """,
    "lex": """
        ZADD {k} < 0 {m} >
        ZADD {k} < 0 {m} >
        ZREM {k} {m}
        (ZRANGEBYLEX|ZREVRANGEBYLEX) {k} {lex} {lex} [ LIMIT {small} {small} ]
        (ZLEXCOUNT|ZREMRANGEBYLEX) {k} {lex} {lex}
        ZRANGE {k} {lex} {lex} BYLEX [ REV ] [ LIMIT {small} {small} ] [ WITHSCORES ]
        ZRANGESTORE {k} {k} {lex} {lex} BYLEX [ REV ] [ LIMIT {small} {small} ]
        (ZUNIONSTORE|ZINTERSTORE) {k} 2 {k} {k} WEIGHTS 0 0
    """,
    "geo": GEO,
    "sketches": SKETCHES,
    "keys": """
        (DEL|UNLINK|EXISTS|TOUCH) < {k} >
        (TYPE|TTL|PTTL|PERSIST|EXPIRETIME|PEXPIRETIME) {k}
        (EXPIRE|PEXPIRE) {k} {t} [ (NX|XX|GT|LT|x) ] [ (NX|XX|GT|LT) ]
        (EXPIREAT|PEXPIREAT) {k} {at} [ (NX|XX|GT|LT) ]
        (RENAME|RENAMENX) {k} {k}
        COPY {k} {k} [ REPLACE ] [ DB (0|-1|16|x) ]
        KEYS {pat}
        (DBSIZE|RANDOMKEY)
        SCAN 0 COUNT 1000 [ MATCH {pat} ] [ TYPE (string|hash|ZSET|list|set|stream|x) ]
        PING [ {v} ]
        ECHO {v}
        OBJECT (REFCOUNT|FREQ|x|HELP) {k}
        OBJECT ENCODING {k}
        SELECT (0|0|x|16|-1|9223372036854775807)
        (FLUSHALL|FLUSHDB) (SYNC|x) [ x ]
        SORT {k} ALPHA
        RESTORE {k} {t} {v} [ (REPLACE|ABSTTL|x) ] [ IDLETIME {i} ] [ FREQ {i} ]
    """,
}


class Commands:
    """Draws commands of families, whose names are those in ``modelled``."""

    def __init__(self, *, modelled: frozenset[str]) -> None:
        self._families = {
            name: [
                compiled(line, PREFIXES.get(name, ""))
                for template in text.strip().splitlines()
                if (line := _known(template.strip(), modelled))
            ]
            for name, text in TEMPLATES.items()
        }
        self._families["keys"] = [
            compiled(line, letter)
            for letter in dict.fromkeys(PREFIXES.values())
            for template in TEMPLATES["keys"].strip().splitlines()
            if (line := _known(template.strip(), modelled))
        ]

    @property
    def families(self) -> list[str]:
        return [name for name, templates in self._families.items() if templates]

    def draw(self, random: Random, family: str) -> tuple[bytes, ...]:
        """Draw one command; one in 16 has a word too many, too few or another.

        Not of ``lex``: ranges of members mean something only if all scores are equal.
        """
        words: Words = []
        random.choice(self._families[family])(random, words)
        chance = random.random()
        if chance < 0.06 and family != "lex":
            _spoil(random, words)
        elif chance > 0.97:
            words[0] = words[0].lower()
        return tuple(words)

    def program(self, random: Random, family: str, size: int) -> list[tuple[bytes, ...]]:
        """Draw a program of one family with commands on keys in between, or of ``mixed``: of all."""
        families = self.families if family == "mixed" else [family] * 6 + ["keys"]
        return [self.draw(random, random.choice(families)) for _ in range(size)]


def _spoil(random: Random, words: Words) -> None:
    how = random.randrange(3)
    if how == 0 and len(words) > 1:
        words.pop()
    elif how == 1:
        words.append(_bytes(random.choice(POOLS["junk"])))
    elif len(words) > 2:
        words[random.randrange(2, len(words))] = _bytes(random.choice(POOLS["wrong"]))


def _known(template: str, modelled: frozenset[str]) -> str:
    """Return the template with those of its commands that are modelled; empty if none is."""
    head, _, rest = template.partition(" ")
    names = head.strip("()").split("|")
    kept = [
        name
        for name in names
        if name.lower() in modelled or f"{name.lower()}|" in "".join(f"{one}|" for one in modelled if "|" in one)
    ]
    return f"({'|'.join(kept)}) {rest}".strip() if kept else ""
