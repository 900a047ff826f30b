"""The work of every coordinator: serve connections, send pipelines one after another, die and come back.

Where pipelines are sent, and whose answers decide, is up to the kinds of coordinators: ``plain`` and ``token_ring``.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.connections.batch import Channel
from zonelab.cluster.coordinators.door import Door
from zonelab.cluster.votes.levels import Setting
from zonelab.cluster.votes.pipeline import Done, Outcome
from zonelab.cluster.votes.shared_batch import Member
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.engine.ports import Command, Connection, Indeterminate, Promise, Reply, Runtime, Unavailable

COORDINATOR_DOWN = "coordinator: connection refused"
COORDINATOR_DIED = "coordinator: connection reset"


class CoordinatorPort(Protocol):
    """Port that serves clients in the process of a coordinator, and dies and comes back with it."""

    def crash(self) -> None: ...
    def restart(self) -> None: ...


class Coordinator(ABC):
    """Coordinator of the clients of ``zone``. ``channels`` lead to the zones that it asks, its own among them, by name.

    ``statistics`` may be those of another coordinator of the zone that this one counts for.

    Example::

        connection = coordinator.connection(Level.DC_QUORUM)
        [value] = await connection.execute(("GET", "key"))
    """

    def __init__(
        self, *, zone: str, channels: Mapping[str, Channel], runtime: Runtime, statistics: CoordinatorStatistics
    ) -> None:
        self.zone = zone
        self.statistics = statistics
        self._runtime = runtime
        # The own zone first: it is vote position 0, and it is what a client's request reaches first.
        self.zones = (zone, *(name for name in channels if name != zone))
        """Zones to which ``channels`` lead, in their order."""
        self.channels = [channels[name] for name in self.zones]
        self._running = True
        self._deaths = 0
        self._sending = False
        self.door: Door | None = None
        """Looks at what clients submit before it is sent, and at the answers that they get."""
        self.port: CoordinatorPort | None = None
        self._delayed: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()

    @property
    def running(self) -> bool:
        return self._running

    @property
    def deaths(self) -> int:
        """Return how often it has crashed."""
        return self._deaths

    @property
    def connected(self) -> bool:
        return self._running and all(channel.connected for channel in self.channels)

    def wrap_channels(self, wrap: Callable[[str, Channel], Channel]) -> None:
        """Put what ``wrap`` makes of each channel and the name of where it leads in that channel's place."""
        self.channels = [wrap(name, channel) for name, channel in zip(self.zones, self.channels, strict=True)]

    def crash(self) -> None:
        """The process ends: its connections break, and until ``restart`` clients cannot reach it.

        Everything that clients wait for ends with an error, even if the answer was there already, since it was not
        delivered. Ways from other zones to this one stay open; a caller that wants them broken cuts the links.
        """
        self._running = False
        self._deaths += 1
        for channel in self.channels:
            channel.reset()
        if self.port is not None:
            self.port.crash()

    def restart(self) -> None:
        """Another process serves. It reaches the zones as its connections come back, after their back-off."""
        self._running = True
        if self.port is not None:
            self.port.restart()

    def connection(self, level: Setting) -> Connection:
        """A client's connection at ``level``, which may be one for reads and one for writes.

        It holds no state, so any number of clients may share it.
        """
        return _Connection(self, level)

    async def execute(self, level: Setting, commands: Sequence[Command]) -> list[Reply]:
        """Run one pipeline; errors as in ``Connection.execute``. Its commands are voted on one by one."""
        if not self._running:
            raise Unavailable(COORDINATOR_DOWN)
        deaths = self._deaths
        answered: Promise[Outcome] = self._runtime.promise()
        self.submit(level, commands, answered.set_result)
        outcome = await answered
        if deaths != self._deaths:
            writes = any(map(is_write, commands))
            raise Indeterminate(COORDINATOR_DIED) if writes else Unavailable(COORDINATOR_DIED)
        return outcome if isinstance(outcome, list) else outcome.result()

    def submit(self, level: Setting, commands: Sequence[Command], done: Done, *, packed: bytes | None = None) -> None:
        """Run one pipeline without a promise or a task; ``done`` is called once, possibly within this call.

        It gets the replies, one a command, when none of them is an error; otherwise a ``Failure``, which has the
        answers too. Pipelines are sent to every zone in the order of these calls, but not decided in that order: one
        that only the own zone answers overtakes one that waits for others. A caller that has to answer in order, such
        as a RESP port, keeps a queue. What is submitted from within ``done`` is sent after the pipeline that is being
        sent.

        ``packed`` is ``commands`` in wire form (RESP arrays, joined), for a caller that has it already, such as a
        client's own bytes. It is sent to the zones as it is; without it the commands are packed once for all zones.
        """
        if not commands:
            done([])
            return
        if self.door is not None:
            self.door.take(level, commands, done, packed, partial(self._in_order, self._send))
        else:
            self._in_order(self._send, level, commands, done, packed)

    def submit_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        """Run pipelines of several callers as one batch; each gets its answer as if it had submitted its pipeline by
        itself.

        ``commands`` and ``packed`` are all members' together, in order. All must have the same rule at ``level``: the
        first one's is taken for all.
        """
        if self.door is not None:
            self.door.take_together(level, members, commands, packed, partial(self._in_order, self._send))
        else:
            self._in_order(self._send_together, level, members, commands, packed)

    def _in_order(self, send: Callable[..., None], *arguments: Any) -> None:
        if self._sending:
            self._delayed.append((send, arguments))
            return
        self._sending = True
        try:
            send(*arguments)
            while self._delayed:
                delayed, its_arguments = self._delayed.popleft()
                delayed(*its_arguments)
        finally:
            self._sending = False

    @abstractmethod
    def _send(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None) -> None: ...

    @abstractmethod
    def _send_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None: ...


class _Connection:
    """``Connection`` through a coordinator at one setting."""

    def __init__(self, coordinator: Coordinator, level: Setting) -> None:
        self._coordinator = coordinator
        self._level = level

    def execute(self, *commands: Command) -> Coroutine[Any, Any, list[Reply]]:
        return self._coordinator.execute(self._level, commands)
