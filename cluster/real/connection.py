"""A multiplexed, auto-pipelining connection to one Redis server: hiredis on asyncio protocols, no streams.

Everything that is sent within one turn of the event loop leaves in one write, whoever sent it, and replies are
handed out in order. This module neither times out nor reconnects: ``cluster.datastore`` does, the same in both arms.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import hiredis

from cluster.batch import Batch
from cluster.zone import Address
from engine.ports import Command, Reply, ServerError

_pack: Callable[[Command], bytes] = hiredis.pack_command  # type: ignore[assignment]  # stubs: one-element tuples only


class RedisUpstream:
    """``Upstream`` over TCP."""

    def __init__(self, address: Address, *, loop: asyncio.AbstractEventLoop) -> None:
        self._address = address
        self._loop = loop
        self._protocol: _RedisProtocol | None = None
        self._attempt: asyncio.Task[None] | None = None

    def open(self, *, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        self.close()
        protocol = _RedisProtocol(self._loop, on_close)
        self._protocol = protocol
        self._attempt = self._loop.create_task(self._connect(protocol, on_open, on_close))

    def send(self, batch: Batch, on_replies: Callable[[list[Reply]], None]) -> None:
        assert self._protocol is not None, "send on a closed connection"
        if batch.packed is None:
            batch.packed = b"".join(map(_pack, batch.commands))
        self._protocol.send(batch.packed, len(batch.commands), on_replies)

    def close(self) -> None:
        if self._attempt is not None:
            self._attempt.cancel()
            self._attempt = None
        if self._protocol is not None:
            self._protocol.abort()
            self._protocol = None

    async def _connect(
        self, protocol: "_RedisProtocol", on_open: Callable[[], None], on_close: Callable[[], None]
    ) -> None:
        try:
            await self._loop.create_connection(lambda: protocol, self._address.host, self._address.port)
        except OSError:
            self._attempt = None
            on_close()
            return
        self._attempt = None
        if protocol.alive:
            on_open()


class _RedisProtocol(asyncio.Protocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, on_close: Callable[[], None]) -> None:
        self._loop = loop
        self._on_close: Callable[[], None] | None = on_close
        self._transport: asyncio.Transport | None = None
        self._reader = hiredis.Reader(replyError=ServerError, protocolError=ConnectionError)
        self._unsent: list[bytes] = []
        self._waiting: deque[tuple[int, Callable[[list[Reply]], None]]] = deque()
        self._replies: list[Any] = []

    @property
    def alive(self) -> bool:
        return self._on_close is not None

    def abort(self) -> None:
        """Drop the connection; nobody is told."""
        self._on_close = None
        self._waiting.clear()
        self._unsent.clear()
        if self._transport is not None:
            self._transport.abort()

    def send(self, packed: bytes, replies: int, on_replies: Callable[[list[Reply]], None]) -> None:
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(packed)
        self._waiting.append((replies, on_replies))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports do not derive from asyncio's
        if not self.alive:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            self._hand_out()
        except ConnectionError:  # not RESP: whatever is there, it is no Redis
            assert self._transport is not None
            self._transport.abort()

    def _hand_out(self) -> None:
        next_reply = self._reader.gets
        waiting = self._waiting
        replies = self._replies
        while waiting:
            count, on_replies = waiting[0]
            while len(replies) < count:
                reply = next_reply()
                if reply is False:
                    return
                replies.append(reply)
            waiting.popleft()
            whole, replies = replies, []
            self._replies = replies
            on_replies(whole)
        if self._reader.has_data():
            raise ConnectionError("a reply that nobody asked for would pass for the answer to the next command")

    def _flush(self) -> None:
        if self._transport is not None and self._unsent:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()
