"""Address of a program that leads to the first of several ports whose coordinator runs."""

import asyncio
from collections.abc import Sequence

from zonelab.cluster.resp.programs.program import PortProgram
from zonelab.cluster.resp.programs.session import ProgramSession
from zonelab.cluster.resp.server import RespServer


class FailoverAddress:
    """Listener for the connections of ``program``, each at the first of ``ports`` that listens when it is made.

    It stays as long as it is, whatever port dies: a client that connects again is at the next one. While none listens,
    connections are closed at once.
    """

    def __init__(self, program: PortProgram, ports: Sequence[RespServer]) -> None:
        self._program = program
        self._ports = ports
        self._listener: asyncio.Server | None = None

    async def listen(self, port: int) -> None:
        """Listen at ``port`` of the ports' host. Raises ``ClusterError``."""
        home = self._ports[0]
        self._listener = await home.listener(self._session, port)
        self._program.address = home.address_of(self._listener)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _session(self) -> asyncio.BaseProtocol:
        for port in self._ports:
            if port.listens:
                return ProgramSession(port, self._program)
        return _Closed()


class _Closed(asyncio.Protocol):
    """Connection that is closed as soon as it is made."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
