"""A multiplexed, auto-pipelining connection to one Redis server: hiredis on asyncio protocols, no streams.

Everything that is sent within one turn of the event loop leaves in one write, whoever sent it, and replies are
handed out in order.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import hiredis

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.marked import CarriedWatches, MarkedCommands
from zonelab.cluster.real.upstream import ServerProtocol, TcpUpstream, pack
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Command, Reply, ServerError


class RedisUpstream(TcpUpstream["_RedisProtocol"]):
    """``Upstream`` over TCP."""

    def _new_protocol(self, on_close: Callable[[], None]) -> "_RedisProtocol":
        return _RedisProtocol(self._loop, on_close)

    def send(self, batch: Batch, on_replies: Callable[[list[Reply]], None]) -> None:
        assert self._protocol is not None, "send on a closed connection"
        if batch.packed is None:
            batch.packed = b"".join(map(pack, _sent(batch.commands)))
        if type(batch.commands) is MarkedCommands:
            self._protocol.send_marked(batch.packed, batch.commands, on_replies)
        else:
            self._protocol.send(batch.packed, len(batch.commands), on_replies)


def _sent(commands: Sequence[Command]) -> Sequence[Command]:
    """Return the commands that are written for ``commands``."""
    if type(commands) is not MarkedCommands or not commands.queued:
        return commands
    return commands.queued if commands.replies == 1 else (("MULTI",), *commands.queued, ("EXEC",))


class GreetingUpstream(RedisUpstream):
    """Says who it is before it counts as open. ``refused`` is what the server answered to that, if it was an error."""

    def __init__(self, address: Address, *, loop: asyncio.AbstractEventLoop, greeting: Sequence[Command]) -> None:
        super().__init__(address, loop=loop)
        self._greeting = tuple(greeting)
        self.refused: ServerError | None = None

    def open(self, *, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        """Connect and send the greeting; ``on_close`` is called if it is refused, too."""

        def greeted(replies: list[Reply]) -> None:
            self.refused = next((reply for reply in replies if isinstance(reply, ServerError)), None)
            if self.refused is None:
                on_open()
            else:
                self.close()
                on_close()

        def opened() -> None:
            self.send(Batch(self._greeting, writes=False), greeted)

        super().open(on_open=opened, on_close=on_close)


class _RedisProtocol(ServerProtocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, on_close: Callable[[], None]) -> None:
        super().__init__(on_close)
        self._loop = loop
        self._reader = hiredis.Reader(replyError=ServerError, protocolError=ConnectionError)
        self._unsent: list[bytes] = []
        self._waiting: deque[tuple[int, Callable[[list[Reply]], None]]] = deque()
        self._replies: list[Any] = []
        self._watches = CarriedWatches()

    def abort(self) -> None:
        self._waiting.clear()
        self._unsent.clear()
        super().abort()

    def send(self, packed: bytes, replies: int, on_replies: Callable[[list[Reply]], None]) -> None:
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(packed)
        self._waiting.append((replies, on_replies))

    def send_marked(self, packed: bytes, commands: MarkedCommands, on_replies: Callable[[list[Reply]], None]) -> None:
        if not self._watches.carry(commands):
            self.send(pack(("PING",)), 1, lambda _: on_replies([None]))
        elif commands.replies > 1:
            self.send(packed, commands.replies, lambda replies: on_replies(replies[-1:]))
        else:
            self.send(packed, len(commands), on_replies)

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
