"""Goal: each command is routed as Dynomite routes it. Method: its classes as literals, and the safe default."""

import pytest

from zonelab.cluster.commands.routes import BROADCASTS, LOCAL_READS, READS, CommandRoute, is_write, route


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            CommandRoute.READ,
            "GET MGET EXISTS HGET HMGET LRANGE SCARD SMEMBERS ZRANGE ZRANGEBYSCORE ZSCORE ZRANK ZCARD PTTL",
        ),
        (CommandRoute.LOCAL_READ, "HGETALL HKEYS HVALS HSCAN SSCAN ZSCAN KEYS SCAN INFO PING"),
        (CommandRoute.BROADCAST, "SCRIPT"),
        (CommandRoute.WRITE, "SET INCR DEL EXPIRE HSET LPUSH SADD ZADD ZREM RESTORE EVAL EVALSHA TTL PFCOUNT GETSET"),
    ],
)
def test_commands_belong_to_dynomites_classes(kind, names):
    assert {name: route((name, "key")) for name in names.split()} == dict.fromkeys(names.split(), kind)


@pytest.mark.parametrize("name", ["SUNIONSTORE", "ZUNIONSTORE", "ZINTERSTORE", "ZRANGESTORE", "JSON.SET", "X"])
def test_storing_and_unknown_commands_go_to_every_zone(name):
    assert route((name, "key")) is CommandRoute.WRITE


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("SORT l", CommandRoute.READ),
        ("sort l BY w_* LIMIT 0 5 GET # DESC ALPHA", CommandRoute.READ),
        ("SORT l ALPHA STORE d", CommandRoute.WRITE),
        ("SORT l store d", CommandRoute.WRITE),
        ("GEORADIUS g 15 37 200 km WITHDIST", CommandRoute.READ),
        ("GEORADIUS g 15 37 200 km STORE d", CommandRoute.WRITE),
        ("GEORADIUSBYMEMBER g m 200 km", CommandRoute.READ),
        ("GEORADIUSBYMEMBER g m 200 km STOREDIST d", CommandRoute.WRITE),
    ],
)
def test_arguments_say_whether_what_is_found_is_stored(words, kind):
    """``is_read`` in ``proto/dyn_redis.c``. SORT and GEORADIUS were also measured at 2046b05 (22 November 2026):
    without STORE, at DC_ONE, they are carried out in the own zone only.
    """
    assert route(tuple(words.split())) is route(tuple(words.encode().split())) is kind


@pytest.mark.parametrize("name", ["get", "Get", b"GET", b"get"])
def test_a_name_may_be_text_or_bytes_in_any_case(name):
    assert route((name, "key")) is CommandRoute.READ


def test_a_name_that_is_not_ascii_is_an_unknown_command():
    assert route((b"\xff\xfe", "key")) is CommandRoute.WRITE


def test_only_reads_can_be_said_not_to_have_been_applied():
    assert [is_write((name, "key")) for name in ("GET", "HGETALL", "SCRIPT", "EVAL", "SET")] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_no_command_is_in_two_classes():
    assert READS & LOCAL_READS == READS & BROADCASTS == LOCAL_READS & BROADCASTS == frozenset()
