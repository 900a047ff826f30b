"""A client's own connection to the simulated server of its zone, on which messages come."""

from collections.abc import Callable
from functools import partial
from typing import Any

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.marked import MarkedCommands
from zonelab.cluster.sim.connection import SimConnection
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.server import SimServer
from zonelab.engine.ports import Command, Promise, Reply, Unavailable

REFUSED = "ERR Storage: Datastore refused connection"


class SimSubscriber:
    """``Subscriber`` of a simulated server, connected."""

    def __init__(
        self, server: SimServer, runtime: SimRuntime, *, hand_on: Callable[[list[Any]], None], lost: Callable[[], None]
    ) -> None:
        self._server = server
        self._hand_on = hand_on
        self._connection = SimConnection(
            reply_ns=server.settings.reply_ns,
            environment=runtime.environment,
            hang_up=server.disconnect,
            on_close=lost,
        )
        self._connection.deliver = self._deliver
        server.connect(self._connection)

    def ask(self, command: Command) -> None:
        if self._connection.carries:
            batch = Batch(MarkedCommands([(str(command[0]).upper(),)], queued=(command,)), writes=False)
            self._server.receive(self._connection, batch, self._confirmed)

    def close(self) -> None:
        self._connection.close()

    def _confirmed(self, replies: list[Reply]) -> None:
        for confirmations in replies:
            assert isinstance(confirmations, list)
            for confirmation in confirmations:
                self._hand_on(confirmation)

    def _deliver(self, message: list[bytes]) -> None:
        self._connection.reply(self._take, [list(message)])

    def _take(self, replies: list[Reply]) -> None:
        for message in replies:
            assert isinstance(message, list)
            self._hand_on(message)


async def subscribe(
    server: SimServer, runtime: SimRuntime, *, hand_on: Callable[[list[Any]], None], lost: Callable[[], None]
) -> SimSubscriber:
    """Connect to ``server``. Raises ``Unavailable`` if it is not there."""
    connected: Promise[None] = runtime.promise()
    settings = server.settings
    runtime.call_later(settings.request_ns + settings.reply_ns, partial(connected.set_result, None))
    await connected
    if not server.listening:
        raise Unavailable(REFUSED)
    return SimSubscriber(server, runtime, hand_on=hand_on, lost=lost)
