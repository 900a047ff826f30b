"""Goal: the model answers as a real server does. Method: a stateful Hypothesis machine runs the same commands on both.

Every reply is compared, and at the end the whole key space. Not the order of SCAN, but its promise: what is there from
the first call to the last is returned.
"""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from support.cluster.drawn_streams import STREAMS
from support.cluster.drawn_words import (
    bounds,
    flags,
    good_scores,
    keys,
    lex_bounds,
    maybe,
    members,
    patterns,
    ranks,
    scores,
    sizes,
    some,
    times,
    values,
    words,
)
from support.cluster.redis_pair import Pair, real_server

pytestmark = pytest.mark.real

EXAMPLES = int(os.environ.get("ZONELAB_CONFORMANCE_EXAMPLES", "60"))
STEPS = 60

limits = maybe("LIMIT", ranks, ranks) | maybe("limit", ranks)
with_scores = maybe("WITHSCORES") | maybe("withscores") | maybe("FOO")
expiry = st.sampled_from(["EX", "PX", "EXAT", "PXAT", "ex"])

STRINGS = st.one_of(
    words("GET", keys),
    words(
        "SET",
        keys,
        values,
        flags("NX", "XX", "GET", "KEEPTTL"),
        maybe(expiry, times),
        maybe(st.sampled_from(["NX", "GET"])),
    ),
    words(st.sampled_from(["SETNX", "GETSET", "APPEND"]), keys, values),
    words(st.sampled_from(["SETEX", "PSETEX"]), keys, times, values),
    words(st.sampled_from(["STRLEN", "GETDEL", "INCR", "DECR"]), keys),
    words("GETEX", keys, flags("PERSIST"), maybe(expiry, times)),
    words(st.sampled_from(["INCRBY", "DECRBY"]), keys, sizes),
    words("INCRBYFLOAT", keys, scores),
    words("GETRANGE", keys, ranks, ranks),
    words("SETRANGE", keys, st.integers(-1, 12) | st.sampled_from(["x", 2**29]), values),
    words("MGET", some(keys)),
    words(st.sampled_from(["MSET", "MSETNX"]), some(keys, values), maybe(keys)),
)
HASHES = st.one_of(
    words(st.sampled_from(["HSET", "HMSET"]), keys, some(members, values), maybe(members)),
    words("HSETNX", keys, members, values),
    words(st.sampled_from(["HGET", "HEXISTS", "HSTRLEN"]), keys, members),
    words(st.sampled_from(["HMGET", "HDEL"]), keys, some(members)),
    words(st.sampled_from(["HGETALL", "HKEYS", "HVALS", "HLEN"]), keys),
    words("HINCRBY", keys, members, sizes),
    words("HINCRBYFLOAT", keys, members, scores),
)
SORTED_SETS = st.one_of(
    words("ZADD", keys, flags("NX", "XX", "GT", "LT", "CH", "INCR"), some(scores, members), maybe(scores)),
    words("ZADD", keys, some(good_scores, members, most=5)),
    words("ZADD", keys, flags("NX", "XX", "GT", "LT", "CH"), some(good_scores, members)),
    words("ZINCRBY", keys, scores, members),
    words(st.sampled_from(["ZREM", "ZMSCORE"]), keys, some(members)),
    words("ZSCORE", keys, members),
    words("ZCARD", keys),
    words(st.sampled_from(["ZRANK", "ZREVRANK"]), keys, members, maybe("WITHSCORE") | maybe("x")),
    words(st.sampled_from(["ZPOPMIN", "ZPOPMAX"]), keys, maybe(sizes)),
    words(st.sampled_from(["ZRANGE", "ZREVRANGE"]), keys, ranks, ranks, with_scores, limits),
    words("ZRANGE", keys, bounds, bounds, "BYSCORE", maybe("REV"), limits, with_scores),
    words(st.sampled_from(["ZRANGEBYSCORE", "ZREVRANGEBYSCORE"]), keys, bounds, bounds, with_scores, limits),
    words(st.sampled_from(["ZCOUNT", "ZREMRANGEBYSCORE"]), keys, bounds, bounds),
    words("ZREMRANGEBYRANK", keys, ranks, ranks),
)
LEX = st.one_of(
    words("ZADD", "lex", some(0, members)),
    words("ZREM", "lex", members),
    words(st.sampled_from(["ZRANGEBYLEX", "ZREVRANGEBYLEX"]), "lex", lex_bounds, lex_bounds, limits, with_scores),
    words("ZRANGE", "lex", lex_bounds, lex_bounds, "BYLEX", maybe("REV"), limits),
    words(st.sampled_from(["ZLEXCOUNT", "ZREMRANGEBYLEX"]), "lex", lex_bounds, lex_bounds),
)
LISTS = st.one_of(
    words(st.sampled_from(["LPUSH", "RPUSH", "LPUSHX", "RPUSHX"]), keys, some(members)),
    words(st.sampled_from(["LPOP", "RPOP"]), keys, maybe(sizes), maybe(sizes)),
    words("LLEN", keys),
    words(st.sampled_from(["LRANGE", "LTRIM"]), keys, ranks, ranks),
    words("LINDEX", keys, ranks),
    words("LSET", keys, ranks, members),
    words("LINSERT", keys, st.sampled_from(["BEFORE", "after", "x"]), members, members),
    words("LREM", keys, ranks, members),
    words("RPOPLPUSH", keys, keys),
    words("LMOVE", keys, keys, st.sampled_from(["LEFT", "right", "x"]), st.sampled_from(["left", "RIGHT"])),
    words("LPOS", keys, members, maybe("RANK", ranks), maybe("COUNT", ranks), maybe("MAXLEN", ranks)),
)
SETS = st.one_of(
    words(st.sampled_from(["SADD", "SREM", "SMISMEMBER"]), keys, some(members)),
    words("SISMEMBER", keys, members),
    words(st.sampled_from(["SMEMBERS", "SCARD"]), keys),
    words("SORT", keys, "ALPHA", st.sampled_from(["ASC", "DESC"])),
    words("SMOVE", keys, keys, members),
    words(st.sampled_from(["SUNION", "SINTER", "SDIFF", "SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"]), some(keys)),
)
KEYS = st.one_of(
    words(st.sampled_from(["DEL", "UNLINK", "EXISTS", "TOUCH"]), some(keys)),
    words(st.sampled_from(["TYPE", "TTL", "PTTL", "PERSIST", "EXPIRETIME", "PEXPIRETIME"]), keys),
    words(
        st.sampled_from(["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"]), keys, times, flags("NX", "XX", "GT", "LT", "x")
    ),
    words("EXPIRE", keys, st.sampled_from([1000, 2000]), flags("NX", "XX", "GT", "LT")),
    words(st.sampled_from(["RENAME", "RENAMENX"]), keys, keys),
    words("KEYS", patterns),
    words("DBSIZE"),
    words("PING", maybe(values)),
    words("ECHO", values),
)
EVERYTHING = st.one_of(STRINGS, HASHES, SORTED_SETS, LISTS, SETS, STREAMS, KEYS)

_NOT_CALLED = ("KEYS", "HKEYS", "HVALS", "HGETALL", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "XPENDING", "XINFO")
CALLS = st.one_of(STRINGS, HASHES, SORTED_SETS, LISTS, STREAMS, KEYS).filter(
    lambda command: command[0] not in _NOT_CALLED
)
lua_values = st.recursive(
    st.sampled_from(["nil", "true", "false", "'x'", "''", "'1.9'", "print == nil"])
    | st.integers(-(2**53), 2**53).map(str)
    | st.floats(-1e6, 1e6).map(repr)
    | st.sampled_from(["1e15", "2^62", "2^63", "-2^63", "1e300", "0/0", "1/0", "-1/0", "0.1", "1e-7"]),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: "{" + ",".join(items) + "}")
        | inner.map(lambda item: "{ok=" + item + "}")
        | inner.map(lambda item: "{err=" + item + "}")
    ),
    max_leaves=6,
).filter(lambda text: "print" not in text)


class ModelAgainstServer(RuleBasedStateMachine):
    client = None

    @initialize()
    def begin(self):
        self.pair = Pair(self.client)

    @rule(command=STRINGS)
    def on_strings(self, command):
        self.pair.run(*command)

    @rule(command=HASHES)
    def on_hashes(self, command):
        self.pair.run(*command)

    @rule(command=SORTED_SETS)
    def on_sorted_sets(self, command):
        self.pair.run(*command)

    @rule(command=LEX)
    def members_of_equal_score(self, command):
        self.pair.run(*command)

    @rule(command=LISTS)
    def on_lists(self, command):
        self.pair.run(*command)

    @rule(command=SETS)
    def on_sets(self, command):
        self.pair.run(*command)

    @rule(command=STREAMS)
    def on_streams(self, command):
        self.pair.run(*command)

    @rule(command=STREAMS, again=STREAMS)
    def on_streams_twice(self, command, again):
        """They need longer stories than other values: entries, a group, deliveries."""
        self.pair.run(*command)
        self.pair.run(*again)

    @rule(command=KEYS)
    def on_keys(self, command):
        self.pair.run(*command)

    @rule(key=keys, count=maybe(sizes))
    def random_members(self, key, count):
        self.pair.pop_random("SPOP", key, *count)
        if count and isinstance(count[0], int) and abs(count[0]) > 100:
            count = [3]
        self.pair.choose_random("SRANDMEMBER", key, *count)

    @rule(command=EVERYTHING, cut=st.integers(0, 3), extra=some(values, least=0, most=2))
    def wrong_numbers_of_words(self, command, cut, extra):
        kept = command[: max(1, len(command) - cut)]
        if kept[0] not in ("SPOP", "SRANDMEMBER"):
            self.pair.run(*kept, *extra)

    @rule(
        name=st.text(st.characters(codec="ascii", min_codepoint=97, max_codepoint=122), min_size=6, max_size=9),
        args=some(values, least=0),
    )
    def unknown_commands(self, name, args):
        self.pair.run("no" + name, *args)

    @rule(
        key=keys,
        verb=st.sampled_from(["SCAN", "HSCAN", "SSCAN", "ZSCAN"]),
        pattern=maybe("MATCH", patterns),
        count=maybe("COUNT", st.integers(1, 3)),
    )
    def scans(self, key, verb, pattern, count):
        """All pages together hold the same elements."""
        target = () if verb == "SCAN" else (key,)
        found = [
            _scan_all(execute, (verb, *target), (*pattern, *count)) for execute in (self.pair.real, self.pair.simulated)
        ]
        assert found[0] == found[1]

    @rule(
        verb=st.sampled_from(["HSCAN", "SSCAN", "ZSCAN"]),
        key=keys,
        cursor=st.sampled_from(["x", "-1", "", "1.5", " 1", "1 ", "+1", "-0", "18446744073709551616"]),
    )
    def cursors_that_are_none(self, verb, key, cursor):
        self.pair.run(verb, key, cursor)
        self.pair.run("SCAN", cursor)

    @rule(
        key=keys,
        words=some(st.sampled_from(["COUNT", "MATCH", "TYPE", "NOVALUES", "x", "0", "-1", "string", "zset"]), most=4),
    )
    def options_of_scans(self, key, words):
        for command in (("SCAN", "0"), ("HSCAN", key, "0"), ("ZSCAN", key, "0"), ("SSCAN", key, "0")):
            real, simulated = self.pair.real(*command, *words), self.pair.simulated(*command, *words)
            if isinstance(real, Exception) or isinstance(simulated, Exception):
                assert simulated == real, (command, words)

    @rule(command=CALLS, verb=st.sampled_from(["call", "pcall"]))
    def scripts_that_call(self, command, verb):
        self.pair.run("EVAL", f"return redis.{verb}(unpack(ARGV))", 0, *command)

    @rule(command=CALLS)
    def scripts_that_look_at_replies(self, command):
        script = """
            local function show(value)
              if type(value) ~= 'table' then return type(value) .. ':' .. tostring(value) end
              local parts = {}
              for _, name in ipairs({'ok', 'err'}) do
                if value[name] then parts[#parts + 1] = name .. '=' .. value[name] end
              end
              for index = 1, #value do parts[#parts + 1] = show(value[index]) end
              return '{' .. table.concat(parts, ',') .. '}'
            end
            return show(redis.pcall(unpack(ARGV)))
        """
        self.pair.run("EVAL", script, 0, *command)

    @rule(value=lua_values)
    def values_of_scripts(self, value):
        self.pair.run("EVAL", f"return {value}", 0)

    @rule(number=st.floats(allow_nan=False) | st.integers(-(2**63), 2**63).map(float) | good_scores, key=keys)
    def numbers_that_scripts_pass_to_commands(self, number, key):
        literal = number if isinstance(number, str) else repr(number)
        script = (
            "redis.call('DEL', KEYS[1]) "
            f"redis.call('SET', KEYS[1], tonumber('{literal}') or 0) "
            "return redis.call('GET', KEYS[1])"
        )
        if "inf" not in literal.lower():
            self.pair.run("EVAL", script, 1, key)

    @rule(commands=st.lists(CALLS, min_size=1, max_size=4))
    def scripts_of_several_commands(self, commands):
        script = "local out = {} " + "".join(
            f"out[{number}] = redis.pcall({', '.join(map(_lua_literal, command))}) "
            for number, command in enumerate(commands, start=1)
        )
        self.pair.run("EVAL", script + "return out", 0)

    @rule(
        script=st.sampled_from(
            [
                "return 1",
                "return {KEYS, ARGV}",
                "return 1 +",
                "x = 1",
                "return nosuch",
                "error('boom')",
                "error({err='BOOM boom'})",
                "return 1\n\nlocal t = nil\nreturn t.x",
            ]
        ),
        count=sizes,
        args=some(values, least=0),
    )
    def scripts_and_their_cache(self, script, count, args):
        self.pair.run("EVAL", script, count, *args)
        digest = self.pair.run("SCRIPT", "LOAD", script)
        if isinstance(digest, bytes):
            self.pair.run("SCRIPT", "EXISTS", digest, "x")
            self.pair.run("EVALSHA", digest.upper(), count, *args)
            self.pair.run("SCRIPT", "FLUSH")
            self.pair.run("EVALSHA", digest, count, *args)

    def teardown(self):
        if hasattr(self, "pair"):
            self.pair.compare_contents()


def _scan_all(execute, head, options):
    found, cursor = [], "0"
    for _ in range(10_000):
        reply = execute(*head, cursor, *options)
        if isinstance(reply, Exception):
            return reply
        cursor, page = reply
        pairs = head[0] in ("HSCAN", "ZSCAN")
        found += zip(page[::2], page[1::2], strict=True) if pairs else page
        if cursor == b"0":
            return sorted(set(found))
    raise AssertionError("the scan does not end")


def _lua_literal(word):
    text = word if isinstance(word, bytes) else str(word).encode()
    return "'" + "".join(f"\\{byte:03d}" for byte in text) + "'"


def test_the_model_answers_as_the_server_does():
    with real_server() as client:
        machine = type("Machine", (ModelAgainstServer,), {"client": client})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
