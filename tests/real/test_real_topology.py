"""Goal: data centres and zones of several servers work on real servers as in simulation.

Method: Valkey processes, one a node; keys are read from each by itself.
"""

import asyncio
from functools import partial

import pytest
from redis.asyncio import Redis
from support.cluster.racks import even_rack
from support.cluster.real import on_servers

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.topology.topology import DataCentre, Topology
from zonelab.cluster.votes.levels import Level

pytestmark = pytest.mark.real

PATIENT = Timeouts(
    datastore_ms=60_000,
    peer_read_ms=60_000,
    peer_write_ms=60_000,
    remote_read_ms=60_000,
    remote_write_ms=60_000,
    reconnect_ms=(50,),
)
SHARED = Topology((DataCentre("dc1", (even_rack("a", 2), even_rack("b", 1))), DataCentre("dc2", (even_rack("c", 2),))))
KEYS = [f"key:{number}" for number in range(20)]

servers = partial(on_servers, timeouts=PATIENT)


async def until(read, expected):
    """Wait until what ``read`` gives is ``expected``."""
    async with asyncio.timeout(60):
        while await read() != expected:  # noqa: ASYNC110 (servers have no event for it)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("level", [Level.DC_QUORUM, Level.DC_EACH_SAFE_QUORUM])
@servers(topology=SHARED)
async def test_keys_reach_their_owners_in_both_data_centres_and_commands_of_many_are_joined(cluster, level):
    connection = cluster.connection("a2", level)
    pairs = [word for key in KEYS for word in (key, f"value of {key}")]
    assert await connection.execute(("MSET", *pairs)) == [b"OK"]
    assert await connection.execute(("MGET", *reversed(KEYS)), ("EXISTS", *KEYS)) == [
        [f"value of {key}".encode() for key in reversed(KEYS)],
        len(KEYS),
    ]
    for node, position in SHARED.positions.items():
        own = [key for key in KEYS if position.zone.owner(SHARED.token(key.encode())).name == node]
        address = cluster.zones[node].address
        async with Redis(host=address.host, port=address.port) as server:

            async def held(server=server):
                return sorted(await server.keys("*"))

            await until(held, sorted(key.encode() for key in own))
