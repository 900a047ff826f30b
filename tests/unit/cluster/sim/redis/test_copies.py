"""Goal: what DUMP wrote RESTORE reads, of every type, and COPY makes a value that changes alone. Method: the model."""

import random

import pytest

from zonelab.cluster.sim.redis import RedisModel
from zonelab.engine.ports import ServerError

NOW_US = 1_700_000_000_000_000
FILLED = [
    (("SET", "k", b"v\x00"), ("GET", "k")),
    (("HSET", "k", "f", "1", "g", ""), ("HGETALL", "k")),
    (("RPUSH", "k", "a", "", "a"), ("LRANGE", "k", 0, -1)),
    (("SADD", "k", "a", "b"), ("SMEMBERS", "k")),
    (("ZADD", "k", "0.1", "a", "inf", "b", "-7", "c"), ("ZRANGE", "k", 0, -1, "WITHSCORES")),
]


def model():
    return RedisModel(clock_us=lambda: NOW_US, random=random.Random(1))


@pytest.mark.parametrize(("fill", "read"), FILLED, ids=lambda command: command[0])
def test_a_dump_is_restored_on_another_server(fill, read):
    one, other = model(), model()
    one.execute(fill)
    payload = one.execute(("DUMP", "k"))
    assert other.execute(("RESTORE", "k", 5000, payload)) == b"OK"
    assert other.execute(read) == one.execute(read)
    assert other.execute(("PTTL", "k")) == 5000
    assert other.execute(("RESTORE", "k", 0, payload)) == ServerError("BUSYKEY Target key name already exists.")
    assert other.execute(("RESTORE", "k", 0, payload, "REPLACE")) == b"OK"
    assert other.execute(("PTTL", "k")) == -1


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-1], lambda raw: raw[:9] + b"x" + raw[9:], lambda raw: b""])
def test_a_dump_that_is_not_whole_is_refused(spoil):
    redis = model()
    redis.execute(("SET", "k", "value"))
    payload = spoil(redis.execute(("DUMP", "k")))
    assert redis.execute(("RESTORE", "l", 0, payload)) == ServerError("ERR DUMP payload version or checksum are wrong")


@pytest.mark.parametrize(("fill", "read"), FILLED, ids=lambda command: command[0])
def test_a_copy_changes_alone(fill, read):
    redis = model()
    redis.execute(fill)
    redis.execute(("PEXPIRE", "k", 700))
    assert redis.execute(("COPY", "k", "l")) == 1
    before = redis.execute(read)
    assert redis.execute((read[0], "l", *read[2:])) == before
    assert redis.execute(("PTTL", "l")) == 700
    change = {"SET": ("APPEND", "l", "x"), "HSET": ("HDEL", "l", "f"), "ZADD": ("ZPOPMIN", "l")}
    redis.execute(change.get(fill[0], ("SPOP", "l") if fill[0] == "SADD" else ("RPOP", "l")))
    assert redis.execute(read) == before


def test_only_database_0_is_modelled():
    redis = model()
    assert redis.execute(("SELECT", 0)) == b"OK"
    assert "models database 0 only" in str(redis.execute(("SELECT", 1)))
    assert redis.execute(("SELECT", 16)) == ServerError("ERR DB index is out of range")


def test_what_the_new_commands_change_is_written_down_and_gives_the_same_contents_when_it_is_repeated():
    written = []
    one = RedisModel(clock_us=lambda: NOW_US, random=random.Random(1), on_write=written.append)
    for command in (
        ("MSETEX", 2, "a", 1, "b", "x", "EX", 9),
        ("SETBIT", "bits", 9, 1),
        ("BITFIELD", "bits", "INCRBY", "u8", "#3", 7),
        ("RPUSH", "l", 3, 1, 2),
        ("SORT", "l", "STORE", "sorted"),
        ("LMPOP", 1, "l", "LEFT", "COUNT", 2),
        ("ZADD", "z", 1, "m", 2, "n"),
        ("ZUNIONSTORE", "u", 2, "z", "z", "WEIGHTS", 2, 3),
        ("ZRANGESTORE", "r", "z", 0, 0),
        ("ZMPOP", 1, "z", "MIN"),
        ("COPY", "u", "c"),
        ("SET", "a", 2, "IFEQ", 1),
        ("DELIFEQ", "a", 2),
        ("DELIFEQ", "b", 2),
    ):
        assert not isinstance(one.execute(command), ServerError), command
    assert len(written) == 13
    again = model()
    for effects in written:
        again.replay(effects, now_us=NOW_US)
    for key in one.execute(("KEYS", "*")):
        assert again.execute(("DUMP", key)) == one.execute(("DUMP", key)), key
        assert again.execute(("PTTL", key)) == one.execute(("PTTL", key))
    assert again.execute(("DBSIZE",)) == one.execute(("DBSIZE",)) == 8
