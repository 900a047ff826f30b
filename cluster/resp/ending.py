"""End of a client's connection: by the client, with what it has sent still to be carried out, or by the port."""

import asyncio
import os
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable

from zonelab.cluster.resp.client import PortClient, PortHost
from zonelab.cluster.resp.reply_slots import ReplySlot

LEFT_BYTES_MAX = 1024 * 1024
"""Bytes that are still read from a client whose connection broke as an answer was written to it."""

_PIECE_BYTES = 64 * 1024


def left_unread(transport: asyncio.BaseTransport) -> bytes:
    """Return what has arrived over a broken connection and was not read, since the port had enough to do; empty with
    TLS.
    """
    if transport.get_extra_info("sslcontext") is not None:
        return b""
    pieces: list[bytes] = []
    try:
        socket = transport.get_extra_info("socket").fileno()
        while len(pieces) * _PIECE_BYTES < LEFT_BYTES_MAX and (piece := os.read(socket, _PIECE_BYTES)):
            pieces.append(piece)
    except OSError:
        pass  # there is no more
    return b"".join(pieces)


class EndingClient(PortClient, asyncio.Protocol):
    """A client whose connection's end waits for earlier answers."""

    __slots__ = ("_busy", "_deaf", "_drained", "_ending", "_has_answered", "_soon", "_task", "slots", "write_paused")

    def __init__(self, host: PortHost) -> None:
        super().__init__(host)
        self.slots: deque[ReplySlot] = deque()
        self._busy = False
        self._has_answered = False  # the command for which it is busy; later ones only keep their order
        self._soon = False  # that command is answered without waiting for anybody
        self._deaf = False  # nothing that still comes matters
        self._ending = False  # the client sends no more; what it has sent is carried out
        self._drained: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self.write_paused = False

    def eof_received(self) -> bool:
        """The client sends no more. It gets the answers to what it has sent, if TLS lets one side close alone."""
        self.host.singles.take()
        if self._task is not None and self.slots and not (self._deaf or self._soon):
            self._task.cancel()  # it has not begun to wait
            self._task, self._drained, self._busy, self._deaf = None, None, False, True
        answered = self._deaf or self._soon or self._has_answered or not self._busy
        self._ending = answered and self.transport.get_extra_info("sslcontext") is None
        if self._ending:
            self._pump()
        return self._ending

    def connection_lost(self, exc: Exception | None) -> None:
        """Carry out what the client has sent, as Dynomite does, up to the first command that would wait."""
        self.host.singles.take()
        self.lost = self._ending = True
        self.write_paused = False
        if self.closing or self._deaf or (self._busy and not self._has_answered):
            self._leave()
        elif exc is not None and (left := left_unread(self.transport)):
            self.received(left)
        else:
            self._pump()

    def end_if_done(self) -> None:
        """Call when commands have been taken, or answered."""
        if self.closing or (self._more and not self._deaf):
            return
        if self.lost:
            self._leave()
        elif not self.slots and not self._busy:
            self.close()

    def hang_up(self, last: bytes = b"") -> None:
        self._deaf = True

        async def close() -> bytes:
            if last:
                self.write(last)
            self.close()
            return b""

        self.exclusively(close)

    def exclusively(self, handler: Callable[[], Awaitable[bytes]], *, soon: bool = False) -> None:
        if self.lost or (self._ending and not (self._deaf or soon)):
            self._deaf = True
            return
        self._busy, self._soon = True, soon
        self._task = self.loop.create_task(self._run_exclusively(handler))

    async def in_order(self, ready: Awaitable[None]) -> None:
        self._has_answered = True
        try:
            await ready
        finally:
            self._has_answered = False

    async def _run_exclusively(self, handler: Callable[[], Awaitable[bytes]]) -> None:
        if self.slots:
            self._drained = self.loop.create_future()
            await self._drained
        self._drained = None
        try:
            reply = await handler()
        except BaseException:
            self.close()  # without its answer the client could not know which answer is to which command
            raise
        self._busy = self._soon = False
        self._task = None
        self.settle()
        if not self.closing:
            if reply:
                self.write(reply)
            self._pump()

    @abstractmethod
    def received(self, data: bytes) -> None:
        """Take what may be anything."""

    @property
    @abstractmethod
    def _more(self) -> bool:
        """There may be commands that have not been taken."""

    @abstractmethod
    def _pump(self) -> None:
        """Take commands, then call ``end_if_done``."""

    @abstractmethod
    def _leave(self) -> None:
        """Forget the client, whose connection is gone."""
