"""A few connections to one server, which all commands of the service share: how many may be under way is bounded."""

import asyncio
from collections import deque

from zonelab.cluster.connections.answered import answered
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.real.connection import GreetingUpstream
from zonelab.cluster.zone import Address, ClusterError
from zonelab.engine.ports import Command, Reply, Runtime, Unavailable

RECONNECT_MS = (50, 100, 200, 400, 500)
"""A server that was away is there again for clients half a second after its return."""

FULL = "the pool of connections is full"


class Slots:
    """At most so many at once; who comes later waits in order, at most ``wait_s``."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def take(self, *, wait_s: float) -> None:
        """Take a place. Raises ``Unavailable`` if none gets free within ``wait_s`` seconds."""
        if self._free and not self._waiting:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await asyncio.wait_for(mine, wait_s)
        except BaseException as error:
            if mine.done() and not mine.cancelled():
                self.give()
            elif mine in self._waiting:
                self._waiting.remove(mine)
            if isinstance(error, TimeoutError):
                raise Unavailable(FULL) from error
            raise

    def give(self) -> None:
        """Give a place back: to who waits longest, if anybody does."""
        while self._waiting:
            next_one = self._waiting.popleft()
            if not next_one.done():
                next_one.set_result(None)
                return
        self._free += 1


class Pool:
    """``Connection`` over whichever of its connections has the least to do.

    ``connections``: how many; ``active_max``: exchanges under way. Who is not answered within ``command_ms`` gets an
    error of the ports, and so does everybody, at once, while the server is away. What a zone's port says in place of
    servers is raised as a coordinator does.
    """

    def __init__(
        self,
        address: Address,
        *,
        runtime: Runtime,
        connections: int,
        active_max: int,
        command_ms: int,
        password: str = "",
        db: int = 0,
    ) -> None:
        loop = asyncio.get_running_loop()
        greeting: list[Command] = [("AUTH", password)] if password else []
        greeting += [("SELECT", db)] if db else [("PING",)]
        timeouts = Timeouts(datastore_ms=command_ms, reconnect_ms=RECONNECT_MS)
        self.address = address
        self.slots = Slots(active_max)
        self.under_way = 0
        self._command_s = command_ms / 1_000
        self._upstreams = [GreetingUpstream(address, loop=loop, greeting=greeting) for _ in range(connections)]
        self._servers = [
            ServerConnection(upstream=upstream, runtime=runtime, timeouts=timeouts) for upstream in self._upstreams
        ]
        self._connections = [DirectConnection(server, runtime=runtime) for server in self._servers]

    @property
    def connected(self) -> bool:
        return any(server.connected for server in self._servers)

    async def open(self, *, within_s: float) -> None:
        """Connect. Raises ``ClusterError`` if the server does not answer within ``within_s`` seconds, or refuses."""
        for server in self._servers:
            server.open()
        deadline_s = asyncio.get_running_loop().time() + within_s
        while not all(server.connected for server in self._servers):
            refused = next((one.refused for one in self._upstreams if one.refused is not None), None)
            if refused is not None:
                raise ClusterError(f"the server at {self.address} refuses: {refused}")
            if asyncio.get_running_loop().time() > deadline_s:
                raise ClusterError(
                    f"no server answers at {self.address}; accepted: a Redis or Valkey server, or a zone's port"
                )
            await asyncio.sleep(0.02)

    def close(self) -> None:
        for server in self._servers:
            server.close()

    async def execute(self, *commands: Command) -> list[Reply]:
        await self.slots.take(wait_s=self._command_s)
        self.under_way += 1
        try:
            return answered(commands, await self._idlest().execute(*commands))
        finally:
            self.under_way -= 1
            self.slots.give()

    def _idlest(self) -> DirectConnection:
        best = 0
        for number, server in enumerate(self._servers):
            if server.connected and (
                not self._servers[best].connected or server.in_flight < self._servers[best].in_flight
            ):
                best = number
        return self._connections[best]
