"""Goal: replies that were once wrong stay right, and what no comparison can show. Method: the model with no server."""

import random
import resource
from pathlib import Path

import pytest
from support.cluster.redis_cases import CASES
from support.cluster.redis_library_cases import LIBRARY_CASES

from zonelab.cluster.sim.redis import RedisModel
from zonelab.engine.ports import ServerError

NOW_US = 1_700_000_000_123_456


class Clock:
    def __init__(self):
        self.now_us = NOW_US

    def __call__(self):
        return self.now_us


def model(clock=None, **options):
    return RedisModel(clock_us=clock or Clock(), random=random.Random(1), **options)


@pytest.mark.parametrize("steps", [pytest.param(steps, id=title) for title, steps in [*CASES, *LIBRARY_CASES]])
def test_the_model_answers_as_pinned(steps):
    redis = model()
    for command, reply in steps:
        answer = redis.execute(command)
        assert answer == reply, command
        assert type(answer) is type(reply) or isinstance(answer, bytes)


def test_words_may_be_text_bytes_or_numbers():
    redis = model()
    assert redis.execute(("set", b"k", 1.5)) == b"OK"
    assert redis.execute(("GET", "k")) == b"1.5"
    assert redis.execute(("SeT", "é", 7)) == b"OK"
    assert redis.execute(("GET", "é".encode())) == b"7"


def test_time_is_the_clock_that_was_given():
    assert model().execute(("TIME",)) == [b"1700000000", b"123456"]


@pytest.mark.parametrize("pattern", ["*" * 30 + "z", "*a" * 30 + "z", "a*" * 30 + "[z]*"])
def test_a_pattern_of_many_stars_fails_after_one_search(pattern):
    """A search that goes back to an earlier star has more than 10**80 places to try."""
    redis = model()
    redis.execute(("SET", "a" * 10_000, "v"))
    assert redis.execute(("KEYS", pattern)) == []


def test_time_stands_still_within_a_script():
    readings = iter(range(NOW_US, NOW_US + 1000))
    redis = model(lambda: next(readings))
    script = "return {redis.call('TIME')[2], redis.call('TIME')[2]}"
    first, second = redis.execute(("EVAL", script, 0))
    assert first == second


def test_a_key_lives_through_its_last_millisecond():
    clock = Clock()
    redis = model(clock)
    redis.execute(("SET", "k", "v", "PX", 100))
    clock.now_us += 100_000
    assert redis.execute(("PTTL", "k")) == 0
    assert redis.execute(("GET", "k")) == b"v"
    clock.now_us += 1_000
    assert redis.execute(("GET", "k")) is None
    assert redis.execute(("PTTL", "k")) == -2
    assert redis.execute(("KEYS", "*")) == []


@pytest.mark.parametrize(
    ("write", "left_ms"),
    [
        (("SET", "k", "w"), -1),
        (("SET", "k", "w", "KEEPTTL"), 1000),
        (("APPEND", "k", "w"), 1000),
        (("GETSET", "k", "w"), -1),
        (("RENAME", "k", "k"), 1000),
        (("PERSIST", "k"), -1),
        (("PEXPIRE", "k", 500, "GT"), 1000),
        (("PEXPIRE", "k", 500, "LT"), 500),
    ],
)
def test_which_writes_keep_the_time_to_live(write, left_ms):
    redis = model()
    redis.execute(("SET", "k", "v", "PX", 1000))
    redis.execute(write)
    assert redis.execute(("PTTL", "k")) == left_ms


def test_an_expired_key_has_no_type_to_be_wrong():
    clock = Clock()
    redis = model(clock)
    redis.execute(("SET", "k", "v", "PX", 10))
    clock.now_us += 20_000
    assert redis.execute(("ZADD", "k", 1, "a")) == 1
    assert redis.execute(("PTTL", "k")) == -1


def test_an_empty_collection_is_no_key():
    redis = model()
    for fill, drain in (
        (("ZADD", "k", 1, "a"), ("ZREM", "k", "a")),
        (("HSET", "k", "f", "v"), ("HDEL", "k", "f")),
        (("RPUSH", "k", "a"), ("LPOP", "k")),
        (("SADD", "k", "a"), ("SREM", "k", "a")),
        (("SADD", "k", "a"), ("SPOP", "k")),
    ):
        redis.execute(fill)
        redis.execute(drain)
        assert redis.execute(("EXISTS", "k")) == 0, drain
        assert redis.execute(("DBSIZE",)) == 0


def scanned(redis, between, count=3):
    seen, cursor = [], b"0"
    while True:
        cursor, page = redis.execute(("SSCAN", "s", cursor, "COUNT", count))
        seen += page
        if cursor == b"0":
            return seen
        between()


def test_a_scan_returns_everything_that_was_there_throughout_whatever_comes_and_goes():
    for seed in range(30):
        draw = random.Random(seed)
        redis = model()
        redis.execute(("SADD", "s", *(f"stays {number}" for number in range(40))))

        def disturb(redis=redis, draw=draw):
            for number in draw.sample(range(20), 5):
                redis.execute((draw.choice(["SADD", "SREM"]), "s", f"goes {number}"))

        seen = scanned(redis, disturb, count=draw.randrange(1, 8))
        stayed = [member for member in seen if member.startswith(b"stays")]
        assert sorted(stayed) == sorted(f"stays {number}".encode() for number in range(40))


def test_a_scan_of_a_set_at_rest_returns_each_element_once():
    redis = model()
    redis.execute(("SADD", "s", *range(1000)))
    seen = scanned(redis, lambda: None, count=7)
    assert len(seen) == len(dict.fromkeys(seen)) == 1000


@pytest.mark.parametrize("module", ["io", "debug", "require", "dofile", "load", "python", "package", "print"])
def test_scripts_reach_nothing_outside(module):
    reply = model().execute(("EVAL", f"return {module}", 0))
    assert isinstance(reply, ServerError)
    assert f"nonexistent global variable '{module}'" in str(reply)


def test_code_that_a_script_loads_is_as_confined_as_the_script():
    redis = model()
    assert redis.execute(("EVAL", "return loadstring('return 1 + 1')()", 0)) == 2
    assert "'io'" in str(redis.execute(("EVAL", "return loadstring('return io')()", 0)))
    assert "readonly" in str(redis.execute(("EVAL", "getmetatable('').__index = {} return 1", 0)))


def test_one_script_leaves_no_trace_for_the_next():
    redis = model()
    redis.execute(("EVAL", "KEYS[1] = 'x' return 1", 0))
    assert redis.execute(("EVAL", "return #KEYS", 0)) == 0
    assert "readonly" in str(redis.execute(("EVAL", "rawset(_G, 'x', 1)", 0)))
    assert "nonexistent" in str(redis.execute(("EVAL", "return x", 0)))


def written(*steps):
    """What reaches the disk."""
    log = []
    redis = model(on_write=log.append)
    for step in steps:
        redis.execute(step)
    return log


def test_only_commands_that_changed_something_are_written():
    assert (
        written(("GET", "k"), ("ZREM", "z", "a"), ("ZADD", "k", "XX", 1, "a"), ("GET",), ("SET", "k", "v", "XX")) == []
    )
    assert written(("SET", "k", "v")) == [[[b"SET", b"k", b"v"]]]


def test_what_is_removed_is_written_and_what_was_not_there_is_not():
    steps = [("HSET", "h", "f", 1), ("SADD", "s", "m"), ("ZADD", "z", 1, "m"), ("RPUSH", "l", "e")]
    removals = [("HDEL", "h", "f"), ("SREM", "s", "m"), ("ZREM", "z", "m"), ("LREM", "l", 0, "e")]
    log = written(*steps, *removals, *removals)
    assert [effect[0] for (effect,) in log[len(steps) :]] == [b"HDEL", b"SREM", b"ZREM", b"LREM"]


def test_a_command_that_writes_the_same_value_is_written():
    assert len(written(("HSET", "h", "f", "v"), ("HSET", "h", "f", "v"))) == 2


def test_the_writes_of_a_script_stay_together():
    log = written(("EVAL", "redis.call('SET', 'a', 1) redis.call('GET', 'a') redis.call('DEL', 'a') error('x')", 0))
    assert log == [[[b"SET", b"a", b"1"], [b"DEL", b"a"]]]


@pytest.mark.parametrize(("flags", "written"), [("NONE", 1), ("AOF", 2), ("REPLICA", 1), ("ALL", 2)])
def test_a_script_may_keep_its_writes_out_of_the_file(flags, written):
    """Measured on Valkey 9.1.2 with its log on, killed and started again (23 November 2026)."""
    effects = []
    redis = model(on_write=effects.extend)
    script = f"redis.call('SET', 'k', 1) redis.set_repl(redis.REPL_{flags}) redis.call('SET', 'k', 2)"
    redis.execute(("EVAL", script, 0))
    redis.execute(("EVAL", "redis.call('SET', 'k', 3)", 0))
    assert redis.execute(("GET", "k")) == b"3"
    assert len(effects) == written + 1


def test_a_script_sees_the_types_of_resp_3_once_it_asks_for_them():
    redis = model()
    redis.execute(("ZADD", "z", "1.5", "m"))
    look = "local r = redis.call('ZSCORE', 'z', 'm') return {type(r), redis.call('GET', 'none') == nil}"
    assert redis.execute(("EVAL", look, 0)) == [b"string", None]
    assert redis.execute(("EVAL", f"redis.setresp(3) {look}", 0)) == [b"table", True]
    assert redis.execute(("EVAL", look, 0)) == [b"string", None]


@pytest.mark.parametrize("call", ["redis.call({})", "math.random({})"])
def test_an_error_over_a_table_in_a_coroutine_keeps_nothing_of_the_coroutine(call):
    """A value that outlives its coroutine ends the interpreter, some scripts later."""
    redis = model()
    failing = f"return {{coroutine.resume(coroutine.create(function() {call} end))}}"
    for _ in range(200):
        assert redis.execute(("EVAL", failing, 0))[0] is None
        redis.execute(("EVAL", "local t = {} for i = 1, 1000 do t[i] = {} end", 0))


def test_a_random_choice_is_written_as_what_was_chosen():
    _, ((name, key, member),) = written(("SADD", "s", "a", "b", "c"), ("SPOP", "s"))
    assert (name, key) == (b"srem", b"s")
    assert member in (b"a", b"b", b"c")


def test_a_snapshot_does_not_follow_what_happens_after_it():
    redis = model()
    for command in (
        ("SET", "s", "1"),
        ("HSET", "h", "f", "1"),
        ("RPUSH", "l", "1"),
        ("SADD", "m", "1"),
        ("ZADD", "z", 1, "1"),
    ):
        redis.execute(command)
    redis.execute(("PEXPIRE", "s", 5000))
    snapshot = redis.store.snapshot()
    for command in (
        ("APPEND", "s", "2"),
        ("HSET", "h", "g", "2"),
        ("RPUSH", "l", "2"),
        ("SADD", "m", "2"),
        ("ZADD", "z", 2, "1"),
    ):
        redis.execute(command)
    redis.store.restore(snapshot)
    assert redis.execute(("GET", "s")) == b"1"
    assert redis.execute(("PTTL", "s")) == 5000
    assert redis.execute(("HGETALL", "h")) == [b"f", b"1"]
    assert redis.execute(("LRANGE", "l", 0, -1)) == [b"1"]
    assert redis.execute(("SMEMBERS", "m")) == [b"1"]
    assert redis.execute(("ZRANGE", "z", 0, -1, "WITHSCORES")) == [b"1", b"1"]


def test_a_sorted_set_keeps_its_order_as_it_grows_past_a_thousand_members_and_shrinks_again():
    redis, numbers = model(), list(range(2_500))
    random.Random(1).shuffle(numbers)
    for number in numbers:
        assert redis.execute(("ZADD", "z", number // 2, f"{number:04}")) == 1
    ordered = [b"%04d" % number for number in range(2_500)]
    assert redis.execute(("ZRANGE", "z", 0, -1)) == ordered
    assert redis.execute(("ZREVRANGE", "z", 2, 3)) == [b"2497", b"2496"]
    assert redis.execute(("ZRANK", "z", "1999")) == 1999
    assert redis.execute(("ZCOUNT", "z", "(10", 20)) == 20
    assert redis.execute(("ZADD", "z", 9_999, "0000")) == 0
    assert redis.execute(("ZRANGE", "z", -1, -1)) == [b"0000"]
    for number in numbers[:2_400]:
        assert redis.execute(("ZREM", "z", f"{number:04}")) == 1
    left = sorted((number for number in numbers[2_400:]), key=lambda number: number or 9_999)
    assert redis.execute(("ZRANGE", "z", 0, -1)) == [b"%04d" % number for number in left]


def test_a_copy_of_a_sorted_set_lives_on_its_own():
    one, other = model(), model()
    one.execute(("ZADD", "z", 1, "a", 2, "b"))
    other.store.restore(one.store.snapshot())
    other.execute(("ZREM", "z", "a"))
    one.execute(("ZADD", "z", 3, "b"))
    assert one.execute(("ZRANGE", "z", 0, -1, "WITHSCORES")) == [b"a", b"1", b"b", b"3"]
    assert other.execute(("ZRANGE", "z", 0, -1, "WITHSCORES")) == [b"b", b"2"]


@pytest.mark.parametrize("size", [0, 1, 200, 201, 5_000])
def test_a_script_returns_a_table_of_any_length_up_to_its_first_nil(size):
    script = "local t = {} for i = 1, tonumber(ARGV[1]) do t[i] = i end t[#t + 2] = 'unseen' return t"
    assert model().execute(("EVAL", script, 0, size)) == list(range(1, size + 1))


def test_what_scripts_draw_at_random_is_each_servers_own():
    one, other = model(), model()
    script = "return {math.random(1000000), math.random(1000000)}"
    first, second = (one.execute(("EVAL", script, 0)) for _ in range(2))
    assert first != second
    assert [other.execute(("EVAL", script, 0)) for _ in range(2)] == [first, second]


def test_scripts_of_servers_that_share_an_interpreter_see_their_own_keys():
    one, other = model(), model()
    for redis, value in ((one, "1"), (other, "2")):
        redis.execute(("SET", "k", value))
    script = "return redis.call('GET', KEYS[1])"
    assert [redis.execute(("EVAL", script, 1, "k")) for redis in (one, other, one)] == [b"1", b"2", b"1"]
    digest = one.execute(("SCRIPT", "LOAD", "return 'known to one'"))
    assert one.execute(("EVALSHA", digest, 0)) == b"known to one"
    assert isinstance(other.execute(("EVALSHA", digest, 0)), ServerError)


def test_a_number_and_a_text_that_look_alike_are_different_words():
    redis = model()
    for word, written in ((1, b"1"), (1.0, b"1.0"), ("1", b"1"), (b"1", b"1")):
        redis.execute(("SET", "k", word))
        assert redis.execute(("GET", "k")) == written


def test_a_limit_with_an_offset_ends_where_the_range_ends():
    redis = model()
    redis.execute(("ZADD", "z", 1, "a", 2, "b", 3, "c", 4, "d"))
    assert redis.execute(("ZRANGEBYSCORE", "z", 1, 3, "LIMIT", 1, -1)) == [b"b", b"c"]
    assert redis.execute(("ZRANGEBYSCORE", "z", 1, 3, "LIMIT", 1, 9)) == [b"b", b"c"]
    assert redis.execute(("ZREVRANGEBYSCORE", "z", 3, 2, "LIMIT", 1, 9)) == [b"b"]


def test_hset_counts_the_fields_that_were_not_there():
    redis = model()
    assert redis.execute(("HSET", "h", "f", 1, "g", 2)) == 2
    assert redis.execute(("HSET", "h", "f", 3, "i", 4)) == 1
    assert redis.execute(("HSET", "h", "f", 5)) == 0


def test_what_a_script_was_given_is_forgotten_when_it_is_done():
    """One interpreter serves all runs of a process, so what it kept would add up over a hunt."""
    redis, megabyte = model(), b"x" * 2**20
    redis.execute(("EVAL", "return 0", 0, megabyte))
    before = resident_bytes()
    for number in range(200):
        redis.execute(("EVAL", "return #ARGV[1]", 0, b"%d%s" % (number, megabyte)))
    assert resident_bytes() - before < 100 * 2**20


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
