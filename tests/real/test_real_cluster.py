"""Goal: three real servers behave as the replicated zones that they are, at every level, when zones and links break.

Method: Valkey processes that are killed, paused, wiped and cut off, and what clients and replicas then say.
"""

import asyncio
from functools import partial

import pytest
import uvloop
from support.cluster.real import on_servers, outcome, settled

from zonelab.cluster.connections.failures import PEER_REFUSED
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.link import Cut
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC
from zonelab.cluster.zone import ZoneError, ZoneState
from zonelab.engine.ports import Indeterminate

pytestmark = pytest.mark.real

ONE, QUORUM, SAFE = LEVELS_OF_ONE_DC
PATIENT = Timeouts(datastore_ms=60_000, peer_read_ms=60_000, peer_write_ms=60_000, reconnect_ms=(50,))
"""Nothing times out, however slow the machine; connections come back at once."""

servers = partial(on_servers, timeouts=PATIENT)


def isolate(cluster, zone, mode):
    for pair, link in cluster.links.items():
        if zone in pair:
            link.cut(mode)


@servers()
async def test_many_clients_of_one_coordinator_leave_the_zones_equal(cluster):
    client = cluster.connection("a", QUORUM)
    replies = await asyncio.gather(*(client.execute(("INCR", "n")) for _ in range(2_000)))
    assert replies == [[number] for number in range(1, 2_001)]
    await settled(cluster, ("GET", "n"), [b"2000"] * 3)


@servers()
async def test_clocks_of_all_zones_show_the_runs_time(cluster):
    before_ms = (cluster.epoch_ns + cluster.runtime.now_ns()) // 1_000_000
    shown = [cluster.clock(zone).now_ms() for zone in "abc"]
    after_ms = (cluster.epoch_ns + cluster.runtime.now_ns()) // 1_000_000
    assert all(before_ms <= shown_ms <= after_ms for shown_ms in shown)


@servers()
async def test_stopping_leaves_no_zone_and_fails_what_is_still_under_way(cluster):
    isolate(cluster, "a", Cut.HOLD)
    client = cluster.connection("a", QUORUM)
    call = asyncio.ensure_future(outcome(client, ("SET", "k", 1)))
    await asyncio.sleep(0)
    await cluster.stop()
    ended, states = await call, [zone.state for zone in cluster.zones.values()]
    assert ended == (Indeterminate, PEER_REFUSED)
    assert states == [ZoneState.STOPPED] * 3


def test_a_zone_that_does_not_start_takes_the_others_with_it():
    broken = zones("process", "abc", binary="/bin/false")

    async def started():
        async with RealCluster(broken, RealSettings(seed=1)):
            pass

    with pytest.raises(ZoneError, match=r"/bin/false"):
        uvloop.run(started())
    assert [zone.state for zone in broken] == [ZoneState.STOPPED] * 3
