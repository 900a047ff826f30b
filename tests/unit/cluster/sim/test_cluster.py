"""Goal: the simulated testbed keeps the promises of a testbed, and repeats. Method: three zones in virtual time."""

import pytest
from support.cluster.sim_lab import simulated

from zonelab.cluster import testbed
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import EPOCH_NS, SimCluster, SimSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import ClusterError, Restart
from zonelab.engine.ports import Indeterminate, Unavailable

MS = 1_000_000
ZONES = ("a", "b", "c")


def test_it_is_a_testbed():
    made: testbed.Testbed = SimCluster(ZONES, SimSettings(seed=1))
    assert list(made.zones) == list(made.clocks) == list(ZONES)
    assert len(made.links) == 6
    assert made.epoch_ns == EPOCH_NS


@simulated(timeouts=Timeouts(factor=0.01))
async def test_a_dead_zone_is_left_out_and_comes_back(cluster):
    await cluster.zones["c"].kill()
    assert await cluster.connection("a", Level.DC_QUORUM).execute(("SET", "k", "v")) == [b"OK"]
    with pytest.raises(Unavailable):
        await cluster.direct("c").execute(("GET", "k"))
    await cluster.zones["c"].restart(Restart.WARM, warm_from=cluster.zones["a"])
    await cluster.network.connected()
    assert await cluster.direct("c").execute(("GET", "k")) == [b"v"]


@simulated()
async def test_a_client_and_the_server_of_a_zone_share_its_clock(cluster):
    cluster.clock("b").jump(5_000 * MS)
    cluster.clock("c").drift(ppm=1000)
    await cluster.runtime.sleep(10**9)
    true_ms = (cluster.epoch_ns + cluster.runtime.now_ns()) // MS
    assert cluster.clock("a").now_ms() == true_ms
    assert cluster.clock("b").now_ms() == true_ms + 5_000
    assert cluster.clock("c").now_ms() == true_ms + 1
    ((seconds, microseconds),) = await cluster.direct("b").execute(("TIME",))
    assert int(seconds) * 1000 + int(microseconds) // 1000 == pytest.approx(true_ms + 5_000, abs=2)


def test_a_cluster_can_be_stopped_with_commands_in_flight():
    made = SimCluster(ZONES, SimSettings(seed=1, lag=parse_lag("constant:1ms")))
    outcomes = []

    async def client():
        try:
            await made.connection("a", Level.DC_QUORUM).execute(("SET", "k", "v"))
        except Indeterminate:
            outcomes.append("indeterminate")

    async def program():
        await made.start()
        made.runtime.spawn(client(), name="client")
        await made.runtime.sleep(1000)
        await made.stop()
        await made.runtime.sleep(100 * MS)

    made.runtime.run_until_complete(program())
    assert outcomes in ([], ["indeterminate"])
    assert {zone.state for zone in made.zones.values()} == {"stopped"}


@pytest.mark.parametrize("zones", [(), ("a", "a")])
def test_zone_names_must_be_some_and_different(zones):
    with pytest.raises(ClusterError, match="one or more, all different"):
        SimCluster(zones, SimSettings(seed=1))
