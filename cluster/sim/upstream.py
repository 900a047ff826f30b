"""A coordinator's connection to a simulated server."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster.connections.batch import Batch
from engine.ports import Reply, Runtime

if TYPE_CHECKING:
    from cluster.sim.server import SimServer

OnReplies = Callable[[list[Reply]], None]


class SimConnection:
    """An established connection. Replies arrive in order; after a break, or once closed, none does."""

    def __init__(self, server: "SimServer", *, runtime: Runtime, on_close: Callable[[], None]) -> None:
        self._server = server
        self._reply_ns = server.settings.reply_ns
        self._runtime = runtime
        self._on_close = on_close
        self._open = True
        self.carries = True
        """Else it is closed, or broken and nobody has noticed yet: what is sent goes nowhere."""
        self._returning: deque[tuple[OnReplies, list[Reply]]] = deque()

    def reply(self, on_replies: OnReplies, replies: list[Reply]) -> None:
        if not self._open:
            return
        if self._reply_ns == 0 and not self._returning:
            on_replies(replies)
            return
        self._returning.append((on_replies, replies))
        self._runtime.call_later(self._reply_ns, self._arrive)

    def break_off(self) -> None:
        """The server is gone: replies on their way are lost, and the client learns of it a moment later."""
        self.carries = False
        self._returning.clear()
        self._runtime.call_later(self._reply_ns, self._closed)

    def close(self) -> None:
        """Hang up. What was sent stays in the server's buffer."""
        self._open = self.carries = False
        self._returning.clear()
        self._server.disconnect(self)

    def _arrive(self) -> None:
        # One timer was set for each reply, so whichever of several at one instant fires first takes the oldest.
        if self._returning:
            on_replies, replies = self._returning.popleft()
            on_replies(replies)

    def _closed(self) -> None:
        if self._open:
            self._open = self.carries = False
            self._on_close()


class SimUpstream:
    """``Upstream`` to a simulated server."""

    def __init__(self, server: "SimServer", *, runtime: Runtime) -> None:
        self._server = server
        self._runtime = runtime
        self._attempt = 0
        self._connection: SimConnection | None = None

    def open(self, *, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        self.close()
        attempt = self._attempt
        settings = self._server.settings

        def answered() -> None:
            if attempt == self._attempt:
                self._connect(on_open, on_close)

        self._runtime.call_later(settings.request_ns + settings.reply_ns, answered)

    def send(self, batch: Batch, on_replies: OnReplies) -> None:
        connection = self._connection
        assert connection is not None, "send on a closed connection"
        if connection.carries:
            self._server.receive(connection, batch, on_replies)

    def close(self) -> None:
        self._attempt += 1
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        if not self._server.listening:
            on_close()
            return
        connection = SimConnection(self._server, runtime=self._runtime, on_close=on_close)
        self._server.connect(connection)
        self._connection = connection
        on_open()
