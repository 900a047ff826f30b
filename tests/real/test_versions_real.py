"""Goal: versions do on real servers what they do in simulation: the same replies, the same records, the same repairs.

Method: one drawn sequence of versioned writes, reads and copies for both kinds of server, compared reply by reply and
record by record; real clusters whose servers are killed, wiped and cut off.
"""

import asyncio
from functools import partial
from random import Random

import pytest
from support.cluster.real import PATIENCE_S, on_servers, outcome, settled, until
from support.cluster.redis_pair import Pair, real_server

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.link import Cut
from zonelab.cluster.options.versions import scripts
from zonelab.cluster.options.versions.script_commands import rewritten
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.votes.levels import Level, VoteBy
from zonelab.cluster.zone import Restart
from zonelab.engine.ports import Indeterminate

pytestmark = pytest.mark.real

QUORUM = Level.DC_QUORUM
FAST = AntiEntropySettings(interval_ms=50)
servers = partial(on_servers, timeouts=Timeouts(factor=0.2))
KEYS = ("string", "hash", "set", "zset", "mixed")


def drawn(random):
    """A command of any kind on one of a few keys, so that types, members and removals meet."""
    key, member, value = random.choice(KEYS), random.choice("mn"), random.randint(0, 99)
    return random.choice(
        [
            ("SET", key, value),
            ("MSET", key, value, "other", value),
            ("DEL", key),
            ("GET", key),
            ("HSET", key, member, value, "o", value),
            ("HMSET", key, member, value),
            ("HDEL", key, member),
            ("HGET", key, member),
            ("SADD", key, member, "o"),
            ("SREM", key, member),
            ("SISMEMBER", key, member),
            ("ZADD", key, value / 8, member),
            ("ZREM", key, member),
            ("ZSCORE", key, member),
        ]
    )


def copied(random):
    """A record as another zone would send it."""
    letter = random.choice("khsz")
    member = b"" if letter == "k" else random.choice([b"m", b"n"])
    name = scripts.record_name(letter, random.choice(KEYS).encode(), member)
    version = random.randint(1, 2_000) * random.choice([1, -1])
    return ("EVAL", scripts.APPLY, 0, random.choice([0, 1_000]), name, version, random.randint(0, 99), -1)


@pytest.fixture(scope="module")
def client():
    with real_server() as one:
        yield one


@pytest.mark.parametrize("seed", range(5))
def test_scripts_answer_and_record_alike_on_both_kinds_of_server(client, seed):
    random, pair = Random(seed), Pair(client)
    for _ in range(300):
        if random.random() < 0.2:
            pair.run(*copied(random))
            continue
        found = rewritten(drawn(random), lambda: random.randint(1, 2_000))
        pair.run(*found.command)
    pair.compare_contents()


def connected(cluster):
    return all(coordinator.connected for coordinator in cluster.coordinators.values())


@servers(anti_entropy=FAST)
async def test_a_wiped_zone_and_one_that_was_cut_off_get_what_they_lack_removals_included(cluster):
    connection = cluster.connection("a", QUORUM)
    await connection.execute(*(("HSET", "h", f"f{number}", number) for number in range(300)), ("SET", "k", 1))
    for ends, link in cluster.links.items():
        if "c" in ends:
            link.cut(Cut.DROP)
    await connection.execute(("DEL", "k"), ("HDEL", "h", "f0"))
    await cluster.zones["b"].kill()
    await cluster.zones["b"].restart(Restart.WIPE)
    for link in cluster.links.values():
        link.mend()
    await until(lambda: connected(cluster), "coordinators connect again")
    await settled(cluster, ("HLEN", "h"), [299] * 3)
    await settled(cluster, ("EXISTS", "k"), [0] * 3)
    begin_ns = cluster.runtime.now_ns()
    await until(lambda: cluster.at_rest(begin_ns), "all zones are found equal")


@servers(votes=VoteBy.VERSION)
async def test_the_newest_of_a_quorum_is_read_and_written_back(cluster):
    connection = cluster.connection("a", QUORUM)
    await connection.execute(("SET", "k", "old"))
    await settled(cluster, ("GET", "k"), [b"old"] * 3)
    for ends, link in cluster.links.items():
        if "a" in ends:
            link.cut(Cut.DROP)
    assert (await outcome(connection, ("SET", "k", "new")))[0] is Indeterminate
    for link in cluster.links.values():
        link.mend()
    await until(lambda: connected(cluster), "coordinators connect again")
    # Nobody confirmed it, so b and c by themselves may still answer for the quorum.
    async with asyncio.timeout(PATIENCE_S):
        while (answer := await connection.execute(("GET", "k"))) != [b"new"]:
            assert answer == [b"old"]
    assert await cluster.connection("b", QUORUM).execute(("GET", "k")) == [b"new"]
    assert cluster.coordinators["a"].statistics.options["written back"] == 1
