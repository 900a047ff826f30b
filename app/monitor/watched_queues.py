"""The queues that a page shows of one cluster, and the connections to its servers, made when the first is asked for."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from zonelab.app.monitor.queue_request import QUEUES_MAX, QueueRequest
from zonelab.app.monitor.watched_queue import WatchedQueue
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.real.connection import RedisUpstream
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.topology.topology import Topology
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Connection
from zonelab.scenarios.errors import NotAccepted

TIME_FACTOR = 0.2
"""Factor of Dynomite's time-outs and back-offs: a server is given up after 1 s and tried again after 2 s at most."""


class ReadServers:
    """One connection to each server of ``addresses``; they are made by ``open`` and again whenever they break."""

    def __init__(self, addresses: Mapping[str, Address]) -> None:
        self._addresses = addresses
        self._runtime: RealRuntime | None = None
        self._connections: dict[str, ServerConnection] = {}

    def open(self) -> Mapping[str, Connection]:
        """By server; the same ones each time."""
        if self._runtime is None:
            self._runtime = RealRuntime(seed=0)
            self._connections = {name: self._connected(address) for name, address in self._addresses.items()}
        runtime = self._runtime
        return {name: DirectConnection(one, runtime=runtime) for name, one in self._connections.items()}

    async def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        if self._runtime is not None:
            await self._runtime.close()

    def _connected(self, address: Address) -> ServerConnection:
        assert self._runtime is not None
        upstream = RedisUpstream(address, loop=asyncio.get_running_loop())
        made = ServerConnection(upstream=upstream, runtime=self._runtime, timeouts=Timeouts(factor=TIME_FACTOR))
        made.open()
        return made


class WatchedQueues:
    """``addresses``: of the server of each node."""

    def __init__(self, layout: Topology, addresses: Mapping[str, Address]) -> None:
        self._zones = tuple(rack.name for rack in layout.racks)
        self._zone_of = {node: position.zone.name for node, position in layout.positions.items()}
        self._servers = ReadServers(addresses)
        self._queues: dict[tuple[str, str], WatchedQueue] = {}

    def add(self, request: QueueRequest) -> str:
        """Return what is shown now. Raises ``NotAccepted``."""
        name, engine = called = request.name, request.label
        places = request.places(self._zones)
        if called in self._queues:
            self._queues.pop(called).close()
        elif len(self._queues) >= QUEUES_MAX:
            raise NotAccepted(f"--queue: got {name!r}; accepted: {QUEUES_MAX} queues; shown: {self._shown}")
        self._queues[called] = WatchedQueue(name, engine, places, self._servers.open(), self._zone_of)
        return f"{name} ({engine})"

    async def look(self) -> None:
        await asyncio.gather(*(queue.look() for queue in self._queues.values()))

    def shown(self) -> Sequence[dict[str, Any]]:
        return [queue.shown() for queue in self._queues.values()]

    async def find(self, name: str, engine: str, message_id: str) -> list[dict[str, Any]]:
        """Return where the message is in the queue of this name and engine. Raises ``NotAccepted`` if that is not
        shown.
        """
        queue = self._queues.get((name, engine))
        if queue is None:
            raise NotAccepted(f"queue {name!r} ({engine}) is not shown; shown: {self._shown}")
        return await queue.find(message_id)

    @property
    def _shown(self) -> str:
        return ", ".join(f"{name} ({engine})" for name, engine in self._queues) or "none"

    async def close(self) -> None:
        for queue in self._queues.values():
            queue.close()
        await self._servers.close()
