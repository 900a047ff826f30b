"""A coordinator's connection to a simulated server."""

from collections.abc import Callable
from functools import partial

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.sim.connection import OnReplies, SimConnection
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.server import SimServer
from zonelab.cluster.sim.station import Station, StationLane


class SimUpstream:
    """``Upstream`` to a simulated server."""

    def __init__(self, server: SimServer, *, runtime: SimRuntime) -> None:
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
            environment=self._runtime.environment,
            hang_up=self._server.disconnect,
            on_close=on_close,
        )
        self._server.connect(connection)
        self._connection = connection
        on_open()


class BehindCoordinator(SimUpstream):
    """Passes through the coordinator of the server's own machine, which takes its time over each command: ``station``.

    What that coordinator has not passed on when it dies it never does, and the connection breaks.
    """

    def __init__(self, server: SimServer, *, runtime: SimRuntime, station: Station) -> None:
        super().__init__(server, runtime=runtime)
        self._station = station
        self._line = StationLane(station)

    def open(self, *, on_open: Callable[[], None], on_close: Callable[[], None]) -> None:
        self._line = StationLane(self._station)
        super().open(on_open=on_open, on_close=on_close)

    def send(self, batch: Batch, on_replies: OnReplies) -> None:
        assert self._connection is not None, "send on a closed connection"
        passed = partial(self._passed, self._connection, self._station.deaths(), batch, on_replies)
        self._line.serve(len(batch.commands), passed)

    def _passed(self, connection: SimConnection, deaths: int, batch: Batch, on_replies: OnReplies) -> None:
        if not connection.carries:
            return
        if deaths == self._station.deaths():
            self._server.receive(connection, batch, on_replies)
        else:
            self._server.disconnect(connection)
            connection.break_off()
