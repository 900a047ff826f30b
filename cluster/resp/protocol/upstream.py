"""A coordinator's connection to one server that carries commands and replies as bytes.

It is to ``zonelab.cluster.connections.server`` what ``zonelab.cluster.real.connection`` is, for a coordinator whose
clients speak RESP themselves.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, cast

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.marked import CarriedWatches, MarkedCommands
from zonelab.cluster.real.upstream import ServerProtocol, TcpUpstream, pack
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.remembered_scripts import RememberedScripts
from zonelab.cluster.resp.protocol.replies import BrokenReplyError, ReplyCutter, is_one_reply
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Reply, ServerError

_PROTOCOLS = {protocol: wire.command(b"HELLO", b"%d" % protocol) for protocol in (2, 3)}
_NOTHING = wire.command(b"PING")
_ERROR = ord("-")
_REMEMBERED_BYTES_MAX = 16 * 1024
"""Bytes of the first server's replies to a batch that are kept for the others; of larger replies cutting is the least.
"""

_GATHERED_BYTES_MAX = 64 * 1024
"""Largest command that waits for others to leave in one write with them."""

_OnReplies = Callable[[list[Reply]], None]


def _with_errors(replies: list[Any]) -> list[Reply]:
    """``replies``, in which error replies are ``ServerError`` now."""
    for index, raw in enumerate(replies):
        if raw[0] == _ERROR:
            replies[index] = ServerError(raw[1:-2].decode("utf-8", "surrogateescape"))
    return replies


class WireCommands(MarkedCommands):
    """Commands of which only the routes matter, because their wire form is given beside them.

    ``protocol``: the RESP version of the replies.
    """

    protocol: int = 2


class GatheredWrites:
    """Within a ``with``, what is sent to servers leaves at its end, in one write to each.

    uvloop hands every write to the kernel at once (0.23.0, measured on 23 November 2026).
    """

    def __init__(self) -> None:
        self._depth = 0
        self._unsent: dict[asyncio.Transport, list[bytes]] = {}

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._unsent and not self._depth:
            unsent, self._unsent = self._unsent, {}
            for transport, packed in unsent.items():
                if not transport.is_closing():
                    transport.write(b"".join(packed))

    def write(self, transport: asyncio.Transport, packed: bytes) -> None:
        """Send ``packed``, or keep it until the outermost gathering ends, in one write a transport.

        What is large goes at once: to gather it would copy it for each transport.
        """
        if self._depth and len(packed) <= _GATHERED_BYTES_MAX:
            self._unsent.setdefault(transport, []).append(packed)
            return
        if earlier := self._unsent.pop(transport, None):
            transport.write(b"".join(earlier))
        transport.write(packed)


class RawUpstream(TcpUpstream["_RawProtocol"]):
    """``Upstream`` over TCP. Replies are bytes, but for errors, which are ``ServerError``.

    A server that does not take what it is sent loses the connection when ``backlog_bytes`` wait for it: nothing else
    would bound the memory for a zone that stalls while clients are answered by the others. ``writes``: of all servers.
    ``password``: what is shown first on every connection. ``scripts``: what is loaded first on every connection,
    since the server may have been restarted.
    """

    def __init__(
        self,
        address: Address,
        *,
        loop: asyncio.AbstractEventLoop,
        backlog_bytes: int,
        writes: GatheredWrites,
        password: str | None = None,
        scripts: RememberedScripts | None = None,
    ) -> None:
        super().__init__(address, loop=loop)
        self._scripts = scripts
        self._writes = writes
        self._backlog_bytes = backlog_bytes
        self._greeting = b"" if password is None else wire.command(b"AUTH", password.encode())

    @property
    def unsent_bytes(self) -> int:
        """Return what the kernel has not taken yet."""
        return self._protocol.unsent_bytes if self._protocol is not None else 0

    def _new_protocol(self, on_close: Callable[[], None]) -> "_RawProtocol":
        return _RawProtocol(on_close, backlog_bytes=self._backlog_bytes, greeting=self._greet, write=self._writes.write)

    def _greet(self) -> Iterator[tuple[bytes, int]]:
        """Yield the commands that a new connection begins with, and how many replies they have."""
        if self._greeting:
            yield self._greeting, 1
        if self._scripts is not None and (loading := self._scripts.loading())[0]:
            yield loading

    def send(self, batch: Batch, on_replies: _OnReplies) -> None:
        protocol = self._protocol
        assert protocol is not None, "send on a closed connection"
        packed = batch.packed
        if packed is None:
            packed = batch.packed = b"".join(map(pack, batch.commands))
        commands = batch.commands
        if type(commands) is not WireCommands or (commands.plain and commands.protocol == protocol.version):
            protocol.send(packed, len(commands), on_replies, batch)
        else:
            protocol.send_marked(packed, commands, on_replies)


class _RawProtocol(ServerProtocol):
    def __init__(
        self,
        on_close: Callable[[], None],
        *,
        backlog_bytes: int,
        greeting: Callable[[], Iterator[tuple[bytes, int]]],
        write: Callable[[asyncio.Transport, bytes], None],
    ) -> None:
        super().__init__(on_close)
        self._write = write
        self._backlog_bytes = backlog_bytes
        self._greeting = greeting
        self._cutter = ReplyCutter()
        self._waiting: deque[tuple[int, _OnReplies | None, Batch | None]] = deque()
        self._replies: list[Any] = []
        self._within = False  # part of the oldest batch's replies, or of one reply, is there
        self.version = 2
        self._watches = CarriedWatches()

    @property
    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def abort(self) -> None:
        self._waiting.clear()
        super().abort()

    def send(self, packed: bytes, replies: int, on_replies: _OnReplies | None, batch: Batch | None = None) -> None:
        """``batch``: what is sent, if each of its commands has one reply and other servers are sent the same."""
        assert self._transport is not None
        self._write(self._transport, packed)
        self._waiting.append((replies, on_replies, batch))

    def send_marked(self, packed: bytes, commands: WireCommands, on_replies: _OnReplies) -> None:
        if commands.protocol != self.version:
            self.version = commands.protocol
            self.send(_PROTOCOLS[self.version], 1, None)
        if not self._watches.carry(commands):
            nil: list[Reply] = [wire.NIL_ARRAY[self.version]]
            self.send(_NOTHING, 1, lambda _: on_replies(nil))
        elif commands.replies > 1:
            self.send(packed, commands.replies, lambda replies: on_replies(replies[-1:]))
        else:
            self.send(packed, len(commands), on_replies)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).set_write_buffer_limits(high=self._backlog_bytes)
        super().connection_made(transport)
        if self.alive:
            for packed, replies in self._greeting():
                self.send(packed, replies, None)

    def pause_writing(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        waiting = self._waiting
        if waiting and not self._within:  # the usual case, as below in fewer steps
            count, on_replies, batch = waiting[0]
            first = None if batch is None else batch.first_replies
            if first is not None and first[0] == data:
                waiting.popleft()
                on_replies(first[1])  # type: ignore[misc]  # who sends a batch wants its replies
                return
            if count == 1 and is_one_reply(data):
                waiting.popleft()
                replies: list[Reply] = [data]
                if batch is not None and first is None and len(data) <= _REMEMBERED_BYTES_MAX:
                    batch.first_replies = data, replies
                if on_replies is not None:
                    on_replies(replies)
                return
        try:
            self._cutter.feed(data)
            self._hand_out()
        except BrokenReplyError:
            assert self._transport is not None
            self._transport.abort()

    def _hand_out(self) -> None:
        cutter = self._cutter
        waiting = self._waiting
        replies: list[Any]
        self._within = False
        while waiting:
            count, on_replies, batch = waiting[0]
            first = None if batch is None or self._replies else batch.first_replies
            if first is not None and cutter.pass_over(first[0]):
                replies = first[1]
            else:
                begin, replies = cutter.position, self._replies
                beginning = not replies
                if not cutter.take(count - len(replies), replies):
                    self._within = bool(replies or cutter.held)
                    return
                self._replies = []
                if cutter.errors:
                    cutter.errors = False
                    replies = _with_errors(replies)
                elif beginning and batch is not None and cutter.position - begin <= _REMEMBERED_BYTES_MAX:
                    batch.first_replies = cutter.taken_since(begin), replies
            waiting.popleft()
            if on_replies is not None:
                on_replies(replies)
        if self.alive and cutter.held:
            raise BrokenReplyError("a reply that nobody asked for would pass for the answer to the next command")
