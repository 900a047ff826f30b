"""Goal: what docs/dyno-v2.md says of a push that the removal of its message overtakes. Method: links of unequal lag."""

import pytest
from support.cluster.sim_lab import simulated

from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno.v2 import PipelinedQueue, PipelinedSettings
from zonelab.engine.message import Message


def queue_of_shard_b(cluster, zone):
    quorum, local = (cluster.connection(zone, level) for level in (Level.DC_QUORUM, Level.DC_ONE))
    settings = PipelinedSettings(prefix="p", shard="b")
    return PipelinedQueue(
        "q", runtime=cluster.runtime, clock=cluster.clock(zone), quorum=quorum, local=local, settings=settings
    )


@pytest.mark.parametrize(("pushing", "listed"), [("a", {"c"}), ("b", set())])
@simulated(lag=ConstantLag(1))
async def test_a_message_consumed_before_its_push_reached_a_third_zone_stays_listed_there(cluster, pushing, listed):
    """No fault: only the other zone's coordinator can be overtaken, as two connections lead to one server."""
    cluster.links[pushing, "c"].set_lag(ConstantLag(50))
    await queue_of_shard_b(cluster, pushing).push([Message(id="m")])
    consuming = queue_of_shard_b(cluster, "b")
    (delivery,) = await consuming.pop(1, wait_ms=20)
    assert await consuming.ack(delivery.message.id)
    await cluster.runtime.sleep(200_000_000)
    found = {}
    for zone in "abc":
        (found[zone],) = await cluster.direct(zone).execute(("ZRANGE", consuming.keys.waiting, 0, -1))
    assert {zone for zone, ids in found.items() if ids} == listed
