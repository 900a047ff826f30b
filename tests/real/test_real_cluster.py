"""Goal: three real servers behave as the replicated zones that they are, at every level, when zones and links break.

Method: Valkey processes that are killed, paused, wiped and cut off, and what clients and replicas then say.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvloop
from support.cluster.real import outcome
from support.coroutines import coroutine

from cluster.connections.failures import PEER_REFUSED
from cluster.connections.timeouts import Timeouts
from cluster.links.link import Cut
from cluster.real.cluster import RealCluster, RealSettings
from cluster.real.zones import zones
from cluster.votes.levels import LEVELS_OF_ONE_DC
from cluster.zone import Restart, ZoneError, ZoneState
from engine.ports import Indeterminate

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


@coroutine
async def test_many_clients_of_one_coordinator_leave_the_zones_equal():
    async with started() as cluster:
        client = cluster.connection("a", QUORUM)
        replies = await asyncio.gather(*(client.execute(("INCR", "n")) for _ in range(2_000)))
        assert replies == [[number] for number in range(1, 2_001)]
        await settled(cluster, "n", [b"2000"] * 3)


@coroutine
async def test_a_zone_that_comes_back_warm_has_what_it_missed():
    async with started() as cluster:
        await cluster.zones["b"].kill()
        await cluster.connection("a", QUORUM).execute(("SET", "missed", 1))
        await cluster.zones["b"].restart(Restart.WARM, warm_from=cluster.zones["a"])
        await cluster.network.connected()
        assert await held(cluster, "missed") == [b"1", b"1", b"1"]


@coroutine
async def test_clocks_of_all_zones_show_the_runs_time():
    async with started() as cluster:
        before_ms = (cluster.epoch_ns + cluster.runtime.now_ns()) // 1_000_000
        shown = [cluster.clock(zone).now_ms() for zone in "abc"]
        after_ms = (cluster.epoch_ns + cluster.runtime.now_ns()) // 1_000_000
    assert all(before_ms <= shown_ms <= after_ms for shown_ms in shown)


@coroutine
async def test_stopping_leaves_no_zone_and_fails_what_is_still_under_way():
    async with started() as cluster:
        isolate(cluster, "a", Cut.HOLD)
        client = cluster.connection("a", QUORUM)
        call = asyncio.ensure_future(outcome(client, ("SET", "k", 1)))
        await asyncio.sleep(0)
        await cluster.stop()
        ended, states = await call, [zone.state for zone in cluster.zones.values()]
    assert ended == (Indeterminate, PEER_REFUSED)
    assert states == [ZoneState.STOPPED] * 3


@coroutine
async def test_a_zone_that_does_not_start_takes_the_others_with_it():
    servers = zones("process", "abc", binary="/bin/false")
    with pytest.raises(ZoneError, match=r"/bin/false"):
        async with RealCluster(servers, RealSettings(seed=1)):
            pass
    assert [zone.state for zone in servers] == [ZoneState.STOPPED] * 3
