"""Goal: three real servers behave as the replicated zones that they are, at every level, when zones and links break.

Method: Valkey processes that are killed, paused, wiped and cut off, and what clients and replicas then say.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvloop
from support.cluster.real import outcome, until

from cluster.connections.failures import NO_QUORUM, PEER_NOT_CONNECTED, PEER_REFUSED, STORAGE_REFUSED
from cluster.connections.timeouts import Timeouts
from cluster.links.lag import Constant
from cluster.links.link import Cut
from cluster.real.cluster import RealCluster, RealSettings
from cluster.real.zones import zones
from cluster.votes.levels import LEVELS_OF_ONE_DC
from cluster.zone import Restart, ZoneError, ZoneState
from engine.ports import Indeterminate, Unavailable

pytestmark = pytest.mark.real

ONE, QUORUM, SAFE = LEVELS = LEVELS_OF_ONE_DC
PATIENT = Timeouts(datastore_ms=60_000, peer_read_ms=60_000, peer_write_ms=60_000, reconnect_ms=(50,))
"""Nothing times out, however slow the machine; connections come back at once."""

HASTY = Timeouts(datastore_ms=3_000, peer_read_ms=3_100, peer_write_ms=4_000, reconnect_ms=(50,))
"""For what must time out."""


@pytest.fixture
def run():
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner.run


@asynccontextmanager
async def started(timeouts=PATIENT, **settings):
    async with RealCluster(zones("process", "abc"), RealSettings(seed=1, timeouts=timeouts, **settings)) as cluster:
        yield cluster


async def held(cluster, key):
    """What each zone holds, past the coordinators."""
    return [(await cluster.direct(zone).execute(("GET", key)))[0] for zone in "abc"]


async def settled(cluster, key, expected):
    """Wait until the zones hold ``expected``."""
    async with asyncio.timeout(60):
        while await held(cluster, key) != expected:  # noqa: ASYNC110 (servers have no event for it)
            await asyncio.sleep(0.01)


def isolate(cluster, zone, mode):
    for pair, link in cluster.links.items():
        if zone in pair:
            link.cut(mode)


def mend(cluster):
    for link in cluster.links.values():
        link.mend()


def test_writes_reach_every_zone_and_reads_are_answered_at_every_level(run):
    async def program():
        async with started(lag=Constant(2)) as cluster:
            for level in LEVELS:
                for zone in "abc":
                    client = cluster.connection(zone, level)
                    replies = await client.execute(("SET", f"{level}{zone}", zone), ("GET", f"{level}{zone}"))
                    assert replies == [b"OK", zone.encode()]
                    await settled(cluster, f"{level}{zone}", [zone.encode()] * 3)

    run(program())


def test_many_clients_of_one_coordinator_leave_the_zones_equal(run):
    async def program():
        async with started() as cluster:
            client = cluster.connection("a", QUORUM)
            replies = await asyncio.gather(*(client.execute(("INCR", "n")) for _ in range(2_000)))
            assert replies == [[number] for number in range(1, 2_001)]
            await settled(cluster, "n", [b"2000"] * 3)

    run(program())


def test_a_killed_zone_costs_dc_one_its_clients_and_a_quorum_nothing_but_the_write_is_never_repaired(run):
    async def program():
        async with started() as cluster:
            await cluster.zones["b"].kill()
            await until(lambda: not cluster.coordinators["a"].connected, "the loss of zone b")
            await until(lambda: not cluster.coordinators["b"].connected, "the loss of zone b's own server")
            at_b = await outcome(cluster.connection("b", ONE), ("SET", "one", 1))
            read_at_b = await outcome(cluster.connection("b", ONE), ("GET", "one"))
            for zone in "abc":
                for level in (QUORUM, SAFE):
                    assert await outcome(cluster.connection(zone, level), ("SET", "missed", 1)) == [b"OK"]
            await cluster.zones["b"].restart(Restart.KEEP)
            await cluster.network.connected()
            for _ in range(20):
                assert await outcome(cluster.connection("b", QUORUM), ("GET", "missed")) == [b"1"]
            for key in ("missed", "one"):
                await settled(cluster, key, [b"1", None, b"1"])
            stale = await outcome(cluster.connection("b", ONE), ("GET", "missed"))
            return at_b, read_at_b, stale

    at_b, read_at_b, stale = run(program())
    assert at_b == (Indeterminate, STORAGE_REFUSED)
    assert read_at_b == (Unavailable, STORAGE_REFUSED)
    assert stale == [None]


def test_with_two_zones_killed_a_quorum_write_fails_but_stays_on_the_third(run):
    async def program():
        async with started() as cluster:
            for zone in "bc":
                await cluster.zones[zone].kill()
            await until(
                lambda: not any(peer.connected for peer in cluster.coordinators["a"].channels[1:]), "two losses"
            )
            ended = [await outcome(cluster.connection("a", level), ("SET", level, 1)) for level in LEVELS]
            for zone in "bc":
                await cluster.zones[zone].restart(Restart.KEEP)
            await cluster.network.connected()
            invisible = [await outcome(cluster.connection("a", level), ("GET", QUORUM)) for level in LEVELS]
            return ended, await held(cluster, QUORUM), invisible

    ended, kept, invisible = run(program())
    assert ended == [[b"OK"], (Indeterminate, STORAGE_REFUSED), (Indeterminate, STORAGE_REFUSED)]
    assert kept == [b"1", None, None]
    assert invisible == [[b"1"], [None], [None]]


def test_a_zone_that_comes_back_warm_has_what_it_missed(run):
    async def program():
        async with started() as cluster:
            await cluster.zones["b"].kill()
            await cluster.connection("a", QUORUM).execute(("SET", "missed", 1))
            await cluster.zones["b"].restart(Restart.WARM, warm_from=cluster.zones["a"])
            await cluster.network.connected()
            return await held(cluster, "missed")

    assert run(program()) == [b"1", b"1", b"1"]


def test_a_paused_zone_times_out_for_those_who_need_it_and_applies_their_writes_afterwards(run):
    async def program():
        async with started(HASTY) as cluster:
            await cluster.zones["b"].pause()
            at_a = await outcome(cluster.connection("a", SAFE), ("SET", "k", "agreed"))
            at_b = await outcome(cluster.connection("b", ONE), ("SET", "late", 1))
            read = await outcome(cluster.connection("b", ONE), ("GET", "late"))
            await cluster.zones["b"].resume()
            await cluster.network.connected()
            await settled(cluster, "k", [b"agreed"] * 3)
            await settled(cluster, "late", [b"1"] * 3)
            return at_a, at_b, read

    at_a, at_b, read = run(program())
    assert at_a == [b"OK"]
    assert at_b == (Indeterminate, STORAGE_REFUSED)
    assert read == (Unavailable, STORAGE_REFUSED)


def test_an_isolated_zone_writes_alone_at_dc_one_and_never_at_a_quorum(run):
    async def program():
        async with started() as cluster:
            isolate(cluster, "b", Cut.DROP)
            inside = [await outcome(cluster.connection("b", level), ("SET", level, "b")) for level in LEVELS]
            outside = [await outcome(cluster.connection("a", level), ("SET", level, "a")) for level in LEVELS]
            mend(cluster)
            await cluster.network.connected()
            for level in LEVELS:
                await settled(cluster, level, [b"a", b"b", b"a"])
            reads = [await outcome(cluster.connection("b", QUORUM), ("GET", level)) for level in LEVELS]
            return inside, outside, reads

    inside, outside, reads = run(program())
    assert inside == [[b"OK"], (Indeterminate, PEER_NOT_CONNECTED), (Indeterminate, PEER_NOT_CONNECTED)]
    assert outside == [[b"OK"]] * 3
    assert reads == [[b"a"]] * 3


def test_a_black_hole_is_noticed_by_its_time_out_and_what_it_held_is_applied_after_mending(run):
    async def program():
        async with started(HASTY) as cluster:
            isolate(cluster, "b", Cut.HOLD)
            write = await outcome(cluster.connection("b", QUORUM), ("SET", "k", "late"))
            at_once = await outcome(cluster.connection("b", QUORUM), ("GET", "k"))
            before = await held(cluster, "k")
            mend(cluster)
            await settled(cluster, "k", [b"late"] * 3)
            await cluster.network.connected()
            return write, at_once, before

    write, at_once, before = run(program())
    assert write == (Indeterminate, PEER_REFUSED)
    assert at_once == (Unavailable, PEER_NOT_CONNECTED)
    assert before == [None, b"late", None]


def test_zones_that_differ_cannot_agree_at_safe_quorum(run):
    async def program():
        async with started() as cluster:
            for number, zone in enumerate("abc"):
                await cluster.direct(zone).execute(("SET", "k", number))
            first = await outcome(cluster.connection("a", QUORUM), ("GET", "k"))
            read = await outcome(cluster.connection("a", SAFE), ("GET", "k"))
            write = await outcome(cluster.connection("a", SAFE), ("INCR", "k"))
            return first, read, write, await held(cluster, "k")

    first, read, write, replicas = run(program())
    assert first in ([b"0"], [b"1"], [b"2"])
    assert read == (Unavailable, NO_QUORUM)
    assert write == (Indeterminate, NO_QUORUM)
    assert replicas == [b"1", b"2", b"3"]


def test_clocks_of_all_zones_show_the_runs_time(run):
    async def program():
        async with started() as cluster:
            before_ms = (cluster.epoch_ns + cluster.runtime.now_ns()) // 1_000_000
            shown = [cluster.clock(zone).now_ms() for zone in "abc"]
            after_ms = (cluster.epoch_ns + cluster.runtime.now_ns()) // 1_000_000
            return before_ms, shown, after_ms

    before_ms, shown, after_ms = run(program())
    assert all(before_ms <= shown_ms <= after_ms for shown_ms in shown)


def test_stopping_leaves_no_zone_and_fails_what_is_still_under_way(run):
    async def program():
        async with started() as cluster:
            isolate(cluster, "a", Cut.HOLD)
            client = cluster.connection("a", QUORUM)
            call = asyncio.ensure_future(outcome(client, ("SET", "k", 1)))
            await asyncio.sleep(0)
            await cluster.stop()
            return await call, [zone.state for zone in cluster.zones.values()]

    ended, states = run(program())
    assert ended == (Indeterminate, PEER_REFUSED)
    assert states == [ZoneState.STOPPED] * 3


def test_a_zone_that_does_not_start_takes_the_others_with_it(run):
    async def program():
        servers = zones("process", "abc", binary="/bin/false")
        with pytest.raises(ZoneError, match=r"/bin/false"):
            async with RealCluster(servers, RealSettings(seed=1)):
                pass
        return [zone.state for zone in servers]

    assert run(program()) == [ZoneState.STOPPED] * 3
