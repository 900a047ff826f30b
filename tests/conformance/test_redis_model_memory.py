"""Goal: a simulated server whose memory is full refuses what a real one does. Method: the same commands on both."""

import pytest
from support.cluster.redis_pair import Pair, real_server

pytestmark = pytest.mark.real

OOM = "OOM command not allowed when used memory > 'maxmemory'."


@pytest.fixture
def pair():
    with real_server() as client:
        made = Pair(client)
        for command in (("SET", "k", "v"), ("HSET", "h", "f", 1), ("ZADD", "z", 1, "a"), ("RPUSH", "l", "a", "b")):
            made.run(*command)
        made.real("CONFIG", "SET", "maxmemory", 1)
        made.model.full = True
        yield made


@pytest.mark.parametrize(
    "command",
    [
        ("SET", "k", "w"),
        ("SET", "k"),
        ("SET", "k", "v", "BOGUS"),
        ("ZADD", "z", 2, "b"),
        ("HSET", "h", "g", 1),
        ("INCR", "n"),
        ("GET", "k"),
        ("DEL", "k"),
        ("ZREM", "z", "a"),
        ("ZPOPMIN", "z"),
        ("HDEL", "h", "f"),
        ("LPOP", "l"),
        ("RPUSH", "l", "c"),
        ("EXPIRE", "k", 100),
        ("RENAME", "k", "q"),
        ("EVAL", "return redis.call('set', 'k', '3')", 0),
        ("EVAL", "return redis.pcall('set', 'k', '3')['err']", 0),
        ("EVAL", "return redis.call('get', 'k')", 0),
        ("EVAL", "redis.call('get', 'k') return redis.call('set', 'k', '3')", 0),
        ("EVAL", "redis.pcall('set', 'k', '3') return redis.call('set', 'k', '3')", 0),
        ("EVAL", "redis.call('del', 'nokey') return redis.call('set', 'k', '3')", 0),
        ("EVAL", "redis.call('zrem', 'z', 'a') return redis.call('zadd', 'z', 1, 'a')", 0),
        ("EVAL", "return redis.call('set', 'k')", 0),
        ("EVAL", "#!lua\nreturn redis.call('get', 'k')", 0),
        ("EVAL", "#!lua flags=no-writes\nreturn redis.call('get', 'k')", 0),
        ("EVAL", "#!lua flags=allow-oom\nreturn redis.call('set', 'k', '2')", 0),
        ("SCRIPT", "LOAD", "return 1"),
    ],
    ids=str,
)
def test_the_same_is_refused_and_carried_out(pair, command):
    pair.run(*command)
    pair.compare_contents()


def test_with_memory_again_everything_is_taken_at_once(pair):
    assert str(pair.run("SET", "k", "w")) == OOM
    pair.real("CONFIG", "SET", "maxmemory", 0)
    pair.model.full = False
    assert pair.run("SET", "k", "w") == b"OK"
