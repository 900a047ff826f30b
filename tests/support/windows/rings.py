"""Zones of two servers, of which one has the payloads and the other the waiting ids."""

from dataclasses import replace

from support.cluster.racks import even_rack
from support.engine.dyno import SHARDS
from support.windows.crashes import redelivery
from support.windows.stage import NAME, PREFIX, SIMULATION, Stage, X, said

from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import LocalOnly, QueueKeys

TOPOLOGY = Topology((DataCentre("dc", tuple(even_rack(zone, 2) for zone in SHARDS)),))
KEYS = QueueKeys(prefix=PREFIX, queue=NAME)


def ring() -> SimCluster:
    return SimCluster(TOPOLOGY.nodes, replace(SIMULATION, topology=TOPOLOGY))


def _owner(key: str, zone: str) -> str:
    owners = TOPOLOGY.dcs[0].owners(TOPOLOGY.token(key.encode()))
    return owners[SHARDS.index(zone)]


async def payload_after_id(stage: Stage) -> str:
    return await _payload_later(stage, "constant:300ms")


async def payload_after_lease(stage: Stage) -> str:
    return await _payload_later(stage, "constant:1500ms")


async def _payload_later(stage: Stage, lag: str) -> str:
    """The payload goes to another server of c than the id, over a slower link."""
    stage.level = Level.DC_ONE
    payloads, waiting = _owner(KEYS.messages, "c"), _owner(KEYS.queue_of("c"), "c")
    assert payloads != waiting
    stage.set_lag("a", payloads, lag)
    await stage.queue("a", strategy=LocalOnly("c")).push([X])
    await stage.sleep(10)
    consumer = stage.queue("c")
    popped = said(await consumer.pop(1))
    late = await redelivery(stage, "c")
    await stage.sleep(1000)
    stored = await stage.queue("c").get("x") is not None
    at_once = f"pop in c: {popped}, misses {consumer.counters.misses}"
    return f"{at_once}; {late}; a second later get: {said(stored)}"


COURSES = {
    "lag_payload_after_id_on_a_ring": payload_after_id,
    "lag_payload_after_lease_on_a_ring": payload_after_lease,
}
