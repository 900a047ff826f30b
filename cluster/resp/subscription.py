"""Pub/sub, which Dynomite refuses: a subscriber gets a connection of its own to the server of its zone.

``PUBLISH`` goes to every zone, so a message reaches the subscribers of all zones that are up and connected, and its
answer counts the receivers in the own zone. What a zone missed it never gets, as with a single server.
"""

import asyncio
import re
from typing import TYPE_CHECKING, cast

from cluster.resp.protocol import wire
from cluster.resp.protocol.replies import BrokenReplyError, ReplyCutter
from cluster.zone import Address

if TYPE_CHECKING:
    from cluster.resp.session import Session

_CONFIRMATION = re.compile(rb"[*>]3\r\n\$\d+\r\n(?:p|s)?(?:un)?subscribe\r\n")
UNREACHABLE = "ERR Storage: Datastore refused connection"


class Subscription(asyncio.Protocol):
    """The connection of one subscriber to the server of its own zone."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._cutter = ReplyCutter()
        self._transport: asyncio.Transport | None = None
        self._expected = 0
        self._confirmed: asyncio.Future[None] | None = None
        self._skip = 0
        self._protocol = 2
        self.channels: set[bytes] = set()
        self.patterns: set[bytes] = set()
        self.shards: set[bytes] = set()

    @property
    def count(self) -> int:
        return len(self.channels) + len(self.patterns) + len(self.shards)

    def restricts(self, protocol: int) -> bool:
        """In RESP2 a subscriber may do little else, because messages look like answers."""
        return protocol == 2 and self.count > 0

    async def open(self, address: Address) -> None:
        """Raises ``OSError``."""
        await self._session.loop.create_connection(lambda: self, address.host, address.port)

    async def ask(self, raw: bytes, *, confirmations: int) -> None:
        """Send a command of the subscribe family; returns when the client has been sent all its confirmations."""
        assert self._transport is not None
        if self._protocol != self._session.protocol:
            self._protocol = self._session.protocol
            self._transport.write(wire.command(b"HELLO", b"%d" % self._protocol))
            self._skip += 1
        self._expected = confirmations
        self._confirmed = self._session.loop.create_future()
        self._transport.write(raw)
        await self._confirmed
        self._confirmed = None

    def set_of(self, name: str) -> set[bytes]:
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
        """Without its server a subscriber would wait for ever, so it is told in the way that it expects."""
        if self._confirmed is not None and not self._confirmed.done():
            self._confirmed.cancel()
        if self._session.subscription is self and not self._session.closing:
            self._session.close()

    def data_received(self, data: bytes) -> None:
        try:
            self._cutter.feed(data)
            while (reply := self._cutter.next()) is not None:
                self._hand_on(reply)
        except BrokenReplyError:
            self.close()

    def _hand_on(self, reply: bytes) -> None:
        if self._skip:
            self._skip -= 1
            return
        self._session.write(reply)
        if self._expected and (_CONFIRMATION.match(reply) or reply[:1] == b"-"):
            self._expected = 0 if reply[:1] == b"-" else self._expected - 1
            if not self._expected and self._confirmed is not None and not self._confirmed.done():
                self._confirmed.set_result(None)


async def subscribe(session: "Session", name: str, raw: bytes, channels: list[bytes]) -> bytes:
    """Carry out a command of the subscribe family; its confirmations come from the server."""
    subscription = session.subscription
    if subscription is None:
        subscription = Subscription(session)
        try:
            await subscription.open(session.server.own_address)
        except OSError:
            return wire.error(UNREACHABLE)
        session.subscription = subscription
    names = subscription.set_of(name)
    if "UNSUB" in name:
        confirmations = len(channels) or max(1, len(names))
        names.difference_update(channels or list(names))
    else:
        confirmations = len(channels)
        names.update(channels)
    await subscription.ask(raw, confirmations=confirmations)
    return b""


def pong(arguments: list[bytes]) -> bytes:
    """The answer to ``PING`` of a subscriber in RESP2."""
    return wire.array((wire.bulk(b"pong"), wire.bulk(arguments[1] if len(arguments) > 1 else b"")))
