"""Parts that all connections to a server share: dialling, dropping, and finding that one is broken.

Neither times out nor reconnects: ``zonelab.cluster.connections.server`` does, the same in both arms. What is written
and read is up to ``zonelab.cluster.real.connection``, for callers that have commands and want replies, and to
``zonelab.cluster.resp.protocol.upstream``, for bytes.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar, cast

import hiredis

from zonelab.cluster.zone import Address
from zonelab.engine.ports import Command

pack: Callable[[Command], bytes] = hiredis.pack_command  # type: ignore[assignment]  # stubs: one-element tuples only


class ServerProtocol(asyncio.Protocol):
    """One connection, from the attempt to its end."""

    def __init__(self, on_close: Callable[[], None]) -> None:
        self._on_close: Callable[[], None] | None = on_close
        self._transport: asyncio.Transport | None = None

    @property
    def alive(self) -> bool:
        return self._on_close is not None

    def abort(self) -> None:
        """Drop the connection without a notice to anybody."""
        self._on_close = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports do not derive from asyncio's
        if not self.alive:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()


ProtocolT = TypeVar("ProtocolT", bound=ServerProtocol)


class TcpUpstream(ABC, Generic[ProtocolT]):
    """The part of ``Upstream`` that opens and closes; one connection or one attempt at a time."""

    def __init__(self, address: Address, *, loop: asyncio.AbstractEventLoop) -> None:
        self._address = address
        self._loop = loop
        self._protocol: ProtocolT | None = None
        self._attempt: asyncio.Task[None] | None = None

    @abstractmethod
    def _new_protocol(self, on_close: Callable[[], None]) -> ProtocolT: ...

    def open(self, *, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        self.close()
        protocol = self._new_protocol(on_close)
        self._protocol = protocol
        self._attempt = self._loop.create_task(self._connect(protocol, on_open, on_close))

    def close(self) -> None:
        if self._attempt is not None:
            self._attempt.cancel()
            self._attempt = None
        if self._protocol is not None:
            self._protocol.abort()
            self._protocol = None

    async def _connect(self, protocol: ProtocolT, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        try:
            await self._dial(protocol)
        except OSError:
            self._attempt = None
            on_close()
            return
        self._attempt = None
        if protocol.alive:
            on_open()

    async def _dial(self, protocol: ProtocolT) -> None:
        """A server that does not listen at its socket file, as one that was copied to, may do so at its address."""
        address = self._address
        if address.socket is not None:
            with contextlib.suppress(OSError):
                await self._loop.create_unix_connection(lambda: protocol, address.socket)
                return
        await self._loop.create_connection(lambda: protocol, address.host, address.port)
