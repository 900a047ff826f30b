"""Connections for reading the servers of a cluster that somebody else runs, past its coordinators."""

import asyncio
from collections.abc import Mapping

from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.real.connection import RedisUpstream
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Connection

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
