"""The queues that a page shows of one cluster, and the connections to its servers, made when the first is asked for."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from zonelab.app.monitor.queue_request import QUEUES_MAX, QueueRequest
from zonelab.app.monitor.servers import ReadServers
from zonelab.app.monitor.watched_queue import WatchedQueue
from zonelab.cluster.topology.topology import Topology
from zonelab.cluster.zone import Address
from zonelab.scenarios.errors import NotAccepted


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
