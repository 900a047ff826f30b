"""Goal: with votes by version a quorum read returns the newest confirmed write, whatever zones missed or lost.

Method: simulated clusters in which links are cut, servers wiped and clocks set wrong between commands; every command
that has versions is run beside a cluster without the option, and must answer the same.
"""

from functools import partial

import pytest
from support.cluster.racks import even_rack
from support.cluster.sim_lab import simulated

from zonelab.cluster.connections.failures import NO_QUORUM
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.options.versions.clock import COORDINATORS_MAX, VersionClock
from zonelab.cluster.options.versions.script_commands import rewritten
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.votes.levels import Level, Levels, VoteBy
from zonelab.cluster.zone import Restart
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

MS = 1_000_000
ONE, QUORUM, SAFE = list(Level)[:3]

versioned = partial(simulated, votes=VoteBy.VERSION, lag=ConstantLag(1), timeouts=Timeouts(factor=0.02))


def cut_off(cluster, *zones, mode=Cut.DROP):
    for ends, link in cluster.links.items():
        if (ends[0] in zones) != (ends[1] in zones):
            link.cut(mode)


async def mend(cluster):
    for link in cluster.links.values():
        link.mend()
    await cluster.network.connected()


async def held(cluster, *command):
    return [(await cluster.direct(zone).execute(command))[0] for zone in cluster.coordinators]


async def told(connection, *command):
    try:
        return (await connection.execute(command))[0]
    except (Unavailable, Indeterminate) as error:
        return type(error), str(error)


async def left_behind(cluster):
    """Zones b and c have missed the last write of ``k``, which a took while it was cut off."""
    connection = cluster.connection("a", QUORUM)
    await connection.execute(("SET", "k", "old"))
    await cluster.runtime.sleep(20 * MS)
    cut_off(cluster, "a")
    await told(connection, "SET", "k", "new")
    await mend(cluster)
    return connection


PIPELINE = (
    ("SET", "k", "v"),
    ("GET", "k"),
    ("get", b"missing"),
    ("SET", "k", "w", "EX", 100),
    ("TTL", "k"),
    ("SET", "k", "x", "NX"),
    ("GET", "k"),
    ("MSET", "x", 1, "y", 2),
    ("MGET", "x", "y", "k"),
    ("HSET", "h", "f", 1, "g", 2, "f", 3),
    ("HMSET", "h", "i", 4),
    ("HGET", "h", "f"),
    ("HGET", "h", "missing"),
    ("HDEL", "h", "g", "missing"),
    ("HGETALL", "h"),
    ("SADD", "s", "m", "n", "m"),
    ("SISMEMBER", "s", "m"),
    ("SISMEMBER", "s", "missing"),
    ("SREM", "s", "m", "missing"),
    ("SMEMBERS", "s"),
    ("ZADD", "z", 1.5, "m", "inf", "n"),
    ("ZADD", "z", "XX", 3, "n"),
    ("ZSCORE", "z", "n"),
    ("ZSCORE", "z", "missing"),
    ("ZREM", "z", "m"),
    ("GET", "h"),
    ("HSET", "k", "f", 1),
    ("SADD", "z", "m"),
    ("DEL", "k", "h", "missing"),
    ("UNLINK", "s"),
    ("GET", "k"),
    ("SET", "z", "over a sorted set"),
    ("GET", "z"),
    ("INCR", "n"),
    ("EXISTS", "k", "z"),
)


@pytest.mark.parametrize("level", [ONE, QUORUM, SAFE])
@pytest.mark.parametrize("together", [True, False], ids=["one pipeline", "one by one"])
def test_commands_answer_as_without_the_option(level, together):
    async def program(cluster):
        connection = cluster.connection("a", level)
        if together:
            answers = await connection.execute(*PIPELINE)
        else:
            answers = [await told(connection, *command) for command in PIPELINE]
        return [
            str(answer).partition(" script:")[0] if isinstance(answer, ServerError) else answer for answer in answers
        ]

    assert versioned(lag=ConstantLag(0))(program)() == versioned(votes=VoteBy.VALUE, lag=ConstantLag(0))(program)()


@pytest.mark.parametrize("level", [QUORUM, SAFE])
@versioned()
async def test_a_value_that_two_zones_lack_is_read_and_written_back(cluster, level):
    newest = [b"new", b"new", 1, None]
    connection = cluster.connection("a", level)
    await connection.execute(("SET", "k", "old"), ("HSET", "h", "f", "old"), ("SADD", "s", "n"), ("ZADD", "z", 1, "m"))
    await cluster.runtime.sleep(20 * MS)
    cut_off(cluster, "a")
    writes = [("SET", "k", "new"), ("HSET", "h", "f", "new"), ("SADD", "s", "m"), ("ZREM", "z", "m")]
    assert [(await told(connection, *write))[0] for write in writes] == [Indeterminate] * 4
    await mend(cluster)
    # The first two replies decide, so a read through a always sees its own zone's.
    reads = [("GET", "k"), ("HGET", "h", "f"), ("SISMEMBER", "s", "m"), ("ZSCORE", "z", "m")]
    first = await connection.execute(*reads)
    elsewhere = await cluster.connection("c", level).execute(*reads)
    counts = cluster.coordinators["a"].statistics
    options, decisions = counts.options, counts.as_dict()["levels"][str(level)]["decisions"]["newest"]
    assert first == elsewhere == newest
    assert options["written back"] == 4
    assert decisions == 4


def test_without_it_the_same_reads_are_outvoted():
    async def program(cluster):
        connection = await left_behind(cluster)
        return await connection.execute(("GET", "k"))

    assert versioned(votes=VoteBy.VALUE)(program)() == [b"old"]
    assert versioned()(program)() == [b"new"]


@versioned()
async def test_two_zones_that_lost_everything_do_not_outvote_the_one_that_did_not(cluster):
    connection = cluster.connection("a", QUORUM)
    await connection.execute(("SET", "k", "v"))
    for zone in "bc":
        await cluster.zones[zone].kill()
        await cluster.zones[zone].restart(Restart.WIPE)
    await cluster.network.connected()
    answer, values = await connection.execute(("GET", "k")), await held(cluster, "GET", "k")
    assert answer == [b"v"]
    assert values.count(b"v") >= 2


@pytest.mark.parametrize("level", [QUORUM, SAFE])
@versioned()
async def test_an_expiry_is_written_back_with_its_value(cluster, level):
    cut_off(cluster, "a")
    await cluster.connection("a", ONE).execute(("SET", "k", "v", "PX", 1_000))
    await mend(cluster)
    await cluster.connection("a", level).execute(("GET", "k"))
    left = await held(cluster, "PTTL", "k")
    await cluster.runtime.sleep(5_000 * MS)
    values, answer = await held(cluster, "GET", "k"), await cluster.connection("b", level).execute(("GET", "k"))
    assert max(left) <= 1_000
    assert sum(each > 0 for each in left) >= 2
    assert values == [None] * 3
    assert answer == [None]


@pytest.mark.parametrize("level", [QUORUM, SAFE])
@versioned()
async def test_reads_do_not_go_back_once_the_newest_value_has_expired(cluster, level):
    await cluster.connection("b", SAFE).execute(("SET", "k", "old"))
    await cluster.runtime.sleep(20 * MS)
    cut_off(cluster, "a")
    await cluster.connection("a", ONE).execute(("SET", "k", "new", "PX", 300))
    await mend(cluster)
    await cluster.runtime.sleep(1_000 * MS)
    cut_off(cluster, "c")
    first = await cluster.connection("a", level).execute(("GET", "k"))
    again = await cluster.connection("b", level).execute(("GET", "k"))  # a removal here, and an expiry there
    await mend(cluster)
    cut_off(cluster, "a")
    assert (first, again, await cluster.connection("c", level).execute(("GET", "k"))) == ([None],) * 3


READ_OF = {"HSET": ("HGET", "k", "m"), "SADD": ("SISMEMBER", "k", "m"), "ZADD": ("ZSCORE", "k", "m")}


@pytest.mark.parametrize("name", list(READ_OF))
@versioned()
async def test_reads_of_members_do_not_go_back_once_the_whole_collection_has_expired(cluster, name):
    words = {"HSET": ("m", "1"), "SADD": ("m",), "ZADD": ("1", "m")}[name]
    await cluster.connection("b", SAFE).execute((name, "k", *words))
    await cluster.runtime.sleep(20 * MS)
    cut_off(cluster, "a")
    await cluster.connection("a", ONE).execute((name, "k", *words), ("PEXPIRE", "k", 300))
    await mend(cluster)
    await cluster.runtime.sleep(1_000 * MS)
    cut_off(cluster, "c")
    first = await cluster.connection("a", SAFE).execute(READ_OF[name])
    await mend(cluster)
    cut_off(cluster, "a")
    assert (first, await cluster.connection("c", SAFE).execute(READ_OF[name])) == ([0 if name == "SADD" else None],) * 2


@versioned()
async def test_a_read_that_cannot_be_written_back_is_an_error_and_not_an_answer(cluster):
    connection = await left_behind(cluster)
    cut_off(cluster, "a", "b")  # what is asked of c fails at once
    reading = cluster.runtime.spawn(told(connection, "GET", "k"), name="read")
    await cluster.runtime.sleep(round(2.1 * MS))  # b has answered by now
    cut_off(cluster, "a")
    assert await reading.join() == (Unavailable, NO_QUORUM)


def test_zones_agree_on_the_later_of_two_writes_that_arrive_in_different_orders():
    async def program(cluster):
        cluster.links["a", "b"].cut(Cut.HOLD)
        cluster.coordinators["a"].submit(ONE, [("SET", "k", "first")], lambda outcome: None)
        await cluster.runtime.sleep(5 * MS)
        await cluster.connection("c", ONE).execute(("SET", "k", "second"))
        await cluster.runtime.sleep(5 * MS)
        cluster.links["a", "b"].mend()
        await cluster.runtime.sleep(20 * MS)
        return await held(cluster, "GET", "k")

    assert versioned()(program)() == [b"second"] * 3
    assert versioned(votes=VoteBy.VALUE)(program)() == [b"second", b"first", b"second"]


@versioned()
async def test_a_write_of_a_slow_clock_loses_and_the_clock_learns_from_that(cluster):
    cluster.clock("a").jump(10_000 * MS)
    await cluster.connection("a", QUORUM).execute(("SET", "k", "of the fast clock"))
    slow = cluster.connection("b", QUORUM)
    assert await slow.execute(("SET", "k", "lost")) == [b"OK"]
    after_one = await slow.execute(("GET", "k"))
    await slow.execute(("SET", "k", "of the slow clock"))
    learnt, options = await slow.execute(("GET", "k")), cluster.coordinators["b"].statistics.options
    assert after_one == [b"of the fast clock"]
    assert learnt == [b"of the slow clock"]
    assert options["older than what was there"] >= 2


@versioned()
async def test_reads_at_dc_one_are_the_own_zones_and_its_writes_carry_versions_all_the_same(cluster):
    mixed = cluster.connection("a", Levels(read=ONE, write=QUORUM))
    await mixed.execute(("SET", "k", "v"))
    await cluster.connection("b", ONE).execute(("SET", "k", "w"))
    await cluster.runtime.sleep(20 * MS)
    cut_off(cluster, "a")
    answer, sums = await mixed.execute(("GET", "k")), await held(cluster, "GET", "._digests")
    assert answer == [b"w"]
    assert all(isinstance(each, ServerError) for each in sums)  # a hash, so it is there


@versioned()
async def test_values_that_differ_under_one_version_are_voted_on_by_value(cluster):
    connection = cluster.connection("a", SAFE)
    await connection.execute(("SET", "n", 10))
    await cluster.runtime.sleep(20 * MS)
    await cluster.direct("b").execute(("INCR", "n"))
    await cluster.direct("c").execute(("INCR", "n"))
    agreed = await told(connection, "GET", "n")
    await cluster.direct("c").execute(("INCR", "n"))
    assert (agreed, await told(connection, "GET", "n")) == (b"11", (Unavailable, NO_QUORUM))


@versioned(topology=Topology((DataCentre("dc", tuple(even_rack(zone, 2) for zone in "abc")),)))
async def test_zones_of_several_servers_vote_by_version_too(cluster):
    connection = cluster.connection("a", QUORUM)
    keys = [f"k{number}" for number in range(20)]
    await connection.execute(*(("SET", key, "old") for key in keys))
    await cluster.runtime.sleep(20 * MS)
    cut_off(cluster, "a", "a2")
    for key in keys:
        await told(connection, "SET", key, "new")
    await mend(cluster)
    assert await connection.execute(*(("GET", key) for key in keys)) == [b"new"] * 20


def test_versions_go_on_beyond_those_that_were_seen_and_never_back():
    now_us = [1_700_000_000_000_000]
    clock = VersionClock(now_us=lambda: now_us[0], position=3)
    first, second = clock.next(), clock.next()
    assert first < second < 2**53
    assert {version % COORDINATORS_MAX for version in (first, second)} == {3}
    now_us[0] -= 1_000_000
    assert clock.next() > second
    clock.observe(second + 1_000 * COORDINATORS_MAX)
    assert clock.next() > second + 1_000 * COORDINATORS_MAX


@pytest.mark.parametrize(
    "command",
    [
        ("SET", "k", "v", "NX"),
        ("SET", "k", "v", "EX", 1, "GET"),
        ("ZADD", "z", "NX", 1, "m"),
        ("INCR", "k"),
        ("APPEND", "k", "v"),
        ("LPUSH", "l", "v"),
        ("EXPIRE", "k", 1),
        ("HSET", "h", "f"),
        ("GET",),
        ("EVAL", "return 1", 0),
    ],
)
def test_other_commands_go_past_the_versions(command):
    assert rewritten(command, lambda: 1) is None


@versioned()
async def test_no_list_of_keys_and_no_count_of_them_shows_a_record_of_versions(cluster):
    connection = cluster.connection("a", ONE)
    assert await connection.execute(("DBSIZE",), ("RANDOMKEY",), ("KEYS", "*")) == [0, None, []]
    await connection.execute(("MSET", "k", 1, "l", 2, "m", 3), ("HSET", "h", "f", 1), ("DEL", "m"), ("HDEL", "h", "f"))
    count, keys, (cursor, page) = await connection.execute(("DBSIZE",), ("KEYS", "*"), ("SCAN", 0, "COUNT", 1_000))
    assert (count, sorted(keys), cursor, sorted(page)) == (2, [b"k", b"l"], b"0", [b"k", b"l"])
    assert {(await connection.execute(("randomkey",)))[0] for _ in range(40)} == {b"k", b"l"}
    [refused] = await connection.execute(("DBSIZE", "x"))
    assert str(refused) == "ERR wrong number of arguments for 'dbsize' command"
