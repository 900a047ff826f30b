"""A coordinator's connection to a simulated server."""

from collections.abc import Callable

from cluster.connections.batch import Batch
from cluster.sim.connection import OnReplies, SimConnection
from cluster.sim.server import SimServer
from engine.ports import Runtime


class SimUpstream:
    """``Upstream`` to a simulated server."""

    def __init__(self, server: SimServer, *, runtime: Runtime) -> None:
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
        connection = SimConnection(
            reply_ns=self._server.settings.reply_ns,
            runtime=self._runtime,
            hang_up=self._server.disconnect,
            on_close=on_close,
        )
        self._server.connect(connection)
        self._connection = connection
        on_open()
