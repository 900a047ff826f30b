"""Subscriptions of one client, and its connection to the server that sends the messages."""

import asyncio
import re
from collections.abc import Callable
from typing import cast

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.replies import BrokenReplyError, ReplyCutter
from zonelab.cluster.zone import Address

_INTRODUCTION = re.compile(rb"[*%]\d+\r\n\$6\r\nserver\r\n")
_CONFIRMATION = re.compile(rb"[*>]3\r\n\$\d+\r\n(?:p|s)?(?:un)?subscribe\r\n")

_NAME_BYTES = 100
"""Bytes that a name takes besides its own."""


class Subscription(asyncio.Protocol):
    """The connection of one subscriber to the server of its own zone.

    ``hand_on`` gets what the server says, in wire form; ``on_lost`` is called when the connection ends.
    """

    def __init__(self, *, hand_on: Callable[[bytes], None], on_lost: Callable[[], None]) -> None:
        self._hand_on = hand_on
        self._on_lost = on_lost
        self._cutter = ReplyCutter()
        self._transport: asyncio.Transport | None = None
        self._expected = 0
        self._confirmed: asyncio.Future[None] | None = None
        self._introduced: bytes | None = None  # what the client gets in place of the server's introduction
        self._protocol = 2
        self.channels: set[bytes] = set()
        self.patterns: set[bytes] = set()
        self.shards: set[bytes] = set()
        self.held_bytes = 0
        """Bytes that all these names take."""

    @property
    def count(self) -> int:
        return len(self.channels) + len(self.patterns) + len(self.shards)

    def restricts(self, protocol: int) -> bool:
        """In RESP2 a subscriber may do little else, because messages look like answers."""
        return protocol == 2 and self.count > 0

    async def open(self, address: Address) -> None:
        """Connect to the server at ``address``. Raises ``OSError``."""
        await asyncio.get_running_loop().create_connection(lambda: self, address.host, address.port)

    async def ask(self, raw: bytes, *, confirmations: int, protocol: int) -> None:
        """Send a command of the subscribe family; returns when the client has been sent all its confirmations.

        ``protocol``: the version of RESP that the client speaks.
        """
        assert self._transport is not None
        if self._protocol != protocol:
            await self.speak(protocol)
        self._expected = confirmations
        self._transport.write(raw)
        await self._confirmation()

    async def speak(self, protocol: int, *, told: bytes = b"") -> None:
        """From now on in this version of RESP; the client gets ``told`` between the messages of both."""
        assert self._transport is not None
        self._protocol = protocol
        self._introduced = told
        self._transport.write(wire.command(b"HELLO", b"%d" % protocol))
        await self._confirmation()

    async def _confirmation(self) -> None:
        self._confirmed = asyncio.get_running_loop().create_future()
        await self._confirmed
        self._confirmed = None

    def confirmations(self, name: str, channels: list[bytes]) -> int:
        """Note what the command called ``name`` changes; returns how many confirmations the server will send."""
        names = self._set_of(name)
        if "UNSUB" not in name:
            changed = set(channels) - names
            names |= changed
            self.held_bytes += _size(changed)
            return len(channels)
        count = len(channels) or max(1, len(names))
        changed = names.intersection(channels) if channels else set(names)
        names -= changed
        self.held_bytes -= _size(changed)
        return count

    def _set_of(self, name: str) -> set[bytes]:
        if name.startswith("P"):
            return self.patterns
        return self.shards if name in ("SSUBSCRIBE", "SUNSUBSCRIBE") else self.channels

    def pause(self) -> None:
        """The client does not read its messages; the server's own limit for slow subscribers will decide."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._confirmed is not None and not self._confirmed.done():
            self._confirmed.cancel()
        self._on_lost()

    def data_received(self, data: bytes) -> None:
        try:
            self._cutter.feed(data)
            while (reply := self._cutter.next()) is not None:
                self._take(reply)
        except BrokenReplyError:
            self.close()

    def _take(self, reply: bytes) -> None:
        if self._introduced is not None and _INTRODUCTION.match(reply):
            reply, self._introduced = self._introduced, None
            self._confirm()
        self._hand_on(reply)
        if self._expected and (_CONFIRMATION.match(reply) or reply[:1] == b"-"):
            self._expected = 0 if reply[:1] == b"-" else self._expected - 1
            if not self._expected:
                self._confirm()

    def _confirm(self) -> None:
        if self._confirmed is not None and not self._confirmed.done():
            self._confirmed.set_result(None)


def _size(names: set[bytes]) -> int:
    return sum(map(len, names)) + _NAME_BYTES * len(names)
