"""Goal: commands get their treatment from the servers' table and Dynomite's classes. Method: cases on a small table."""

import pytest

from zonelab.cluster.commands.routes import Route
from zonelab.cluster.resp.commands.command_table import Treatment, table_from

from .conftest import COMMANDS

TABLE = table_from(COMMANDS)


@pytest.mark.parametrize(
    ("name", "route"),
    [
        ("GET", Route.READ),
        ("SET", Route.WRITE),
        ("HSTRLEN", Route.READ),  # unknown to Dynomite: by its flags
        ("ZUNION", Route.READ),  # keys, though not at fixed positions
        ("DBSIZE", Route.LOCAL_READ),
        ("HGETALL", Route.LOCAL_READ),  # Dynomite's class, whatever its flags
        ("PING", Route.LOCAL_READ),
        ("TTL", Route.WRITE),  # a write for Dynomite, though it only reads
        ("EVAL", Route.WRITE),
        ("PUBLISH", Route.BROADCAST),
        ("CONFIG|GET", Route.LOCAL_READ),
    ],
)
def test_a_command_has_the_route_that_dynomite_gives_it_or_its_flags(name, route):
    assert (TABLE[name].kind.route, TABLE[name].treatment) == (route, Treatment.FORWARD)


@pytest.mark.parametrize(
    ("name", "treatment"),
    [
        ("CONFIG", Treatment.CONTAINER),
        ("CONFIG|SET", Treatment.REFUSE),
        ("SHUTDOWN", Treatment.REFUSE),
        ("WAIT", Treatment.REFUSE),
        ("BLPOP", Treatment.BLOCKING),
        ("BLNEW", Treatment.BLOCKING),
        ("WATCH", Treatment.TRANSACTION),
        ("SUBSCRIBE", Treatment.SUBSCRIPTION),
        ("CLIENT", Treatment.PORT),
        ("CLIENT|REPLY", Treatment.PORT),
        ("SELECT", Treatment.PORT),
    ],
)
def test_what_would_change_a_shared_connection_is_not_forwarded(name, treatment):
    assert TABLE[name].treatment is treatment
    assert TABLE[name].reason if treatment is Treatment.REFUSE else not TABLE[name].reason


def test_names_are_found_in_any_case_and_arity_is_checked():
    assert TABLE.find(b"get") is TABLE.find(b"GET") is TABLE.find(b"gEt") is TABLE["get"]
    assert TABLE.find(b"frob") is None
    assert [TABLE["GET"].accepts(count) for count in (1, 2, 3)] == [False, True, False]
    assert [TABLE["SET"].accepts(count) for count in (2, 3, 9)] == [False, True, True]
    assert TABLE.find_subcommand(TABLE["CONFIG"], [b"config", b"gEt"]) is TABLE["CONFIG|GET"]
    assert TABLE.find_subcommand(TABLE["CONFIG"], [b"config"]) is None


def test_keys_are_found_where_the_table_says():
    assert TABLE["MSET"].keys([b"MSET", b"a", b"1", b"b", b"2"]) == [b"a", b"b"]
    assert TABLE["BLPOP"].keys([b"BLPOP", b"a", b"b", b"0"]) == [b"a", b"b"]
    assert TABLE["GET"].keys([b"GET", b"a"]) == [b"a"]
    assert TABLE["PING"].keys([b"PING"]) == []


def described(*specs):
    """A table whose only command, ``PROBE``, has these key specifications: (begin, its values, find, its values)."""
    told = [
        ["flags", flags, "begin_search", ["type", begin, "spec", where], "find_keys", ["type", find, "spec", how]]
        for flags, begin, where, find, how in specs
    ]
    return table_from([["probe", -2, ["movablekeys"], 9, 9, 1, ["@read"], [], told, []]])["PROBE"]


AT_1 = (["RO"], "index", ["index", 1])
COUNTED = ("keynum", ["keynumidx", 0, "firstkey", 1, "keystep", 1])
BEHIND_STREAMS = (["RO"], "keyword", ["keyword", "STREAMS", "startfrom", 1])


def ranging(last, step, limit=0):
    return ("range", ["lastkey", last, "keystep", step, "limit", limit])


@pytest.mark.parametrize(
    ("specs", "call", "keys"),
    [
        ([(*AT_1, *ranging(0, 1))], "PROBE a b", "a"),
        ([(*AT_1, *ranging(-1, 2))], "PROBE a 1 b 2", "a b"),
        ([(*AT_1, *ranging(-2, 1))], "PROBE a b 0", "a b"),
        ([(*AT_1, *COUNTED)], "PROBE 2 a b c", "a b"),
        ([(*AT_1, *COUNTED)], "PROBE 9 a b", "a b"),
        ([(*AT_1, *COUNTED)], "PROBE many a b", ""),
        ([(*AT_1, *COUNTED)], "PROBE", ""),
        ([(*AT_1, *ranging(0, 1)), (["RO"], "index", ["index", 2], *COUNTED)], "PROBE to 2 a b", "to a b"),
        ([(*BEHIND_STREAMS, *ranging(-1, 1, 2))], "PROBE COUNT 1 streams a b 0 0", "a b"),
        ([(*BEHIND_STREAMS, *ranging(-1, 1, 2))], "PROBE COUNT 1", ""),
        ([(["RW"], "keyword", ["keyword", "KEYS", "startfrom", -2], *ranging(-1, 1))], "PROBE KEYS KEYS a b", "a b"),
        ([(["not_key"], "index", ["index", 1], *ranging(0, 1))], "PROBE channel", ""),
        ([(["RO"], "unknown", [], "unknown", []), (*AT_1, *ranging(0, 1))], "PROBE a", "a"),
    ],
)
def test_keys_are_found_by_the_servers_own_specifications(specs, call, keys):
    assert described(*specs).keys(call.encode().split()) == keys.encode().split()


@pytest.mark.parametrize(
    "reply", [[1, 2], [["get"]], ["get"], [[b"get", 2, 3, 1, 1, 1]], [["get", 2, [], 1, 1, 1, [], [], [[]], []]]]
)
def test_a_reply_that_is_no_table_is_refused(reply):
    with pytest.raises(ValueError, match="not the reply to COMMAND"):
        table_from(reply)
