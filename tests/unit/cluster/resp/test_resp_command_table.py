"""Goal: commands get their treatment from the servers' table and Dynomite's classes.

Method: cases on a small table, and all commands of Valkey 9.1.2, as recorded, held against the page and the flags.
"""

import re

import pytest
from support.cluster.port_lines import recorded_commands
from support.project_files import ROOT

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.resp.protocol.command_table import Treatment, table_from
from zonelab.cluster.resp.protocol.remembered_scripts import EVALUATING

from .conftest import COMMANDS

TABLE = table_from(COMMANDS)
WHOLE = table_from(recorded_commands())
NAMES = [name for entry in recorded_commands() for name in (entry[0], *(each[0] for each in entry[9]))]


@pytest.mark.parametrize(
    ("name", "route"),
    [
        ("GET", CommandRoute.READ),
        ("SET", CommandRoute.WRITE),
        ("HSTRLEN", CommandRoute.READ),  # unknown to Dynomite: by its flags
        ("ZUNION", CommandRoute.READ),  # keys, though not at fixed positions
        ("DBSIZE", CommandRoute.LOCAL_READ),
        ("HGETALL", CommandRoute.LOCAL_READ),  # Dynomite's class, whatever its flags
        ("PING", CommandRoute.LOCAL_READ),
        ("TTL", CommandRoute.WRITE),  # a write for Dynomite, though it only reads
        ("EVAL", CommandRoute.WRITE),
        ("PUBLISH", CommandRoute.BROADCAST),
        ("CONFIG|GET", CommandRoute.LOCAL_READ),
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


PAGE = (ROOT / "docs/resp.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\w+) \| (`[^|]*) \| [D+] \|", PAGE, re.MULTILINE)
OWN_ZONE = """
    COMMAND COMMAND|COUNT COMMAND|DOCS COMMAND|GETKEYS COMMAND|GETKEYSANDFLAGS COMMAND|HELP COMMAND|INFO COMMAND|LIST
    CONFIG|GET CONFIG|HELP DBSIZE HGETALL HKEYS HSCAN HVALS INFO KEYS LASTSAVE LATENCY|DOCTOR LATENCY|GRAPH LATENCY|HELP
    LATENCY|HISTOGRAM LATENCY|HISTORY LATENCY|LATEST LOLWUT MEMORY|DOCTOR MEMORY|HELP MEMORY|STATS OBJECT|HELP PING
    PUBSUB|CHANNELS PUBSUB|HELP PUBSUB|NUMPAT PUBSUB|NUMSUB PUBSUB|SHARDCHANNELS PUBSUB|SHARDNUMSUB RANDOMKEY ROLE SCAN
    SSCAN TIME XGROUP|HELP XINFO|HELP ZSCAN
"""
EVERY_ZONE = """
    FUNCTION|DELETE FUNCTION|DUMP FUNCTION|FLUSH FUNCTION|HELP FUNCTION|KILL FUNCTION|LIST FUNCTION|LOAD
    FUNCTION|RESTORE FUNCTION|STATS PUBLISH SCRIPT|EXISTS SCRIPT|FLUSH SCRIPT|HELP SCRIPT|KILL SCRIPT|LOAD
    SCRIPT|SHOW SPUBLISH
"""
"""And the own zone answers."""
READS_BY_NAME = {"MEMORY|USAGE", *(f"OBJECT|{what}" for what in ("ENCODING", "FREQ", "IDLETIME", "REFCOUNT"))}
REFUSED_PARTS = """
    CONFIG|RESETSTAT CONFIG|REWRITE CONFIG|SET LATENCY|RESET MEMORY|MALLOC-STATS MEMORY|PURGE SCRIPT|DEBUG
"""
REASONS = {
    "it would act on one server behind the coordinator's back": f"""
        BGREWRITEAOF BGSAVE DEBUG FAILOVER MONITOR PFDEBUG PFSELFTEST PSYNC REPLCONF REPLICAOF SAVE SHUTDOWN SLAVEOF
        SYNC {REFUSED_PARTS}""",
    "users are the servers' own business": "ACL",
    "the zones are not a Redis Cluster": "ASKING CLUSTER READONLY READWRITE",
    "it belongs to one server": "COMMANDLOG SLOWLOG",
    "it would move keys out of one zone only": "MIGRATE",
    "there is database 0 only": "MOVE SWAPDB",
    "modules belong to one server": "MODULE",
    "zones are not replicas of each other; choose a consistency level instead": "WAIT WAITAOF",
}


def test_each_command_is_treated_as_the_page_says():
    said = {name: treatment for treatment, names in ROWS for name in re.findall(r"`([A-Z_]+)`", names)}
    assert len(said) > 80
    assert {name: WHOLE[name].treatment.name.lower() for name in said} == said


def test_what_is_refused_is_refused_for_a_reason():
    expected = {name: reason for reason, names in REASONS.items() for name in names.split()}
    found = {name.upper(): WHOLE[name].reason for name in NAMES if WHOLE[name].treatment is Treatment.REFUSE}
    whole = {name: expected.get(name, expected.get(name.partition("|")[0])) for name in found}
    assert found == whole
    assert set(expected) <= set(found)


def test_what_is_forwarded_goes_where_the_page_or_its_flags_say():
    flags = dict(flags_by_name())
    for name in map(str.upper, NAMES):
        spec = WHOLE[name]
        if spec.treatment not in (Treatment.FORWARD, Treatment.INFO, Treatment.SORTED):
            continue
        if name in OWN_ZONE.split():
            expected = CommandRoute.LOCAL_READ
        elif name in EVERY_ZONE.split():
            expected = CommandRoute.BROADCAST
        elif name in READS_BY_NAME or ("readonly" in flags[name] and name not in ("TTL", "PFCOUNT")):
            expected = CommandRoute.READ
        else:
            expected = CommandRoute.WRITE
        assert spec.kind.route is expected, name
        assert spec.kind.reads is (expected in (CommandRoute.READ, CommandRoute.LOCAL_READ)), name
    assert WHOLE["MGET"].kind is not WHOLE["GET"].kind


def flags_by_name():
    for entry in recorded_commands():
        for each in (entry, *entry[9]):
            yield each[0].upper(), each[2]


def test_commands_are_counted_by_treatment():
    counts = WHOLE.counts()
    assert sum(counts.values()) == len(WHOLE) == len(NAMES)
    assert (counts["transaction"], counts["subscription"], counts["sorted"], counts["storing"]) == (5, 6, 1, 3)
    noting = WHOLE.remembering_scripts().counts()
    scripts = noting.pop("script")
    assert noting | {"forward": noting["forward"] + scripts} == counts
    assert scripts == len(EVALUATING)


@pytest.mark.parametrize(
    ("call", "keys"),
    [
        ("SET k v", "k"),
        ("MSET a 1 b 2", "a b"),
        ("EVAL s 2 a b c", "a b"),
        ("SORT l BY w STORE d", "l"),  # the table does not say where else
        ("GEORADIUS g 1 1 1 m STORE d", "g d"),
        ("XREADGROUP GROUP g c COUNT 1 STREAMS a b > >", "a b"),
        ("MIGRATE h 1 k 0 9", "k"),
        ("ZUNIONSTORE d 2 a b WEIGHTS 1 2", "d a b"),
        ("BLMPOP 0 2 a b LEFT", "a b"),
        ("PUBLISH c m", ""),
        ("SPUBLISH c m", ""),
        ("OBJECT ENCODING k", ""),
        ("BITOP AND d a b", "d a b"),
    ],
)
def test_keys_of_real_commands_are_found(call, keys):
    words = call.encode().split(b" ")
    assert WHOLE[call.split()[0]].keys(words) == keys.encode().split()


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
