"""The RESP port of one zone: listens for clients."""

import asyncio

from zonelab.cluster.resp.client import PortHost
from zonelab.cluster.resp.commands.dispatch import dispatch
from zonelab.cluster.resp.session import ConnectionSession
from zonelab.cluster.zone import Address, ClusterError

_BACKLOG = 4096


class RespServer(PortHost):
    """Server of a port: passes its clients' commands to the coordinator."""

    _listener: asyncio.Server | None = None

    @property
    def address(self) -> Address:
        """Return where the port listens. Raises ``ClusterError`` before it does."""
        if self._listener is None:
            raise ClusterError("the port does not listen")
        host, port = self._listener.sockets[0].getsockname()[:2]
        return Address(host, port)

    async def start(self) -> None:
        """Listen. Raises ``ClusterError`` if the address cannot be had."""
        settings = self.settings
        try:
            self._listener = await self.loop.create_server(
                lambda: ConnectionSession(self, dispatch),
                settings.host,
                settings.port,
                ssl=settings.tls(),
                backlog=_BACKLOG,
            )
        except OSError as error:
            raise ClusterError(f"cannot listen at {settings.host}:{settings.port}: {error}") from error

    async def stop(self) -> None:
        """Stop listening and drop every client."""
        if self._listener is not None:
            self._listener.close()
            for client in self.clients:
                client.transport.abort()
            await self._listener.wait_closed()
            self._listener = None
