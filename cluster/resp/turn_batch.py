"""Commands of one port's clients in the same turn of the event loop that the coordinator can send together."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence, Sized
from functools import partial

from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.resp.protocol.command_table import CommandKind
from zonelab.cluster.resp.protocol.upstream import GatheredWrites
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import Done
from zonelab.cluster.votes.shared_batch import Member
from zonelab.engine.ports import Command

_GATHERED_MAX = 128
"""Commands beyond which what is gathered departs: servers begin with it while the rest of a busy turn is read."""


class _BatchRun:
    """Commands of one kind that can travel together, and whose they are. A call submits them to ``coordinator``."""

    __slots__ = ("_coordinator", "_kind", "count", "level", "members", "packed", "protocol")

    def __init__(self, coordinator: Coordinator, kind: CommandKind, level: Level, protocol: int) -> None:
        self._coordinator = coordinator
        self._kind = kind
        self.level = level
        self.protocol = protocol
        self.members: list[Member] = []
        self.packed: list[bytes] = []
        self.count = 0

    def __call__(self) -> None:
        if len(self.members) == 1:
            [(commands, done)] = self.members
            self._coordinator.submit(self.level, commands, done, packed=self.packed[0])
        else:
            commands = self._kind.run(self.count, self.protocol)
            self._coordinator.submit_together(self.level, self.members, commands, b"".join(self.packed))


class TurnBatch:
    """Runs of commands that are alike, of several of ``clients``, until the turn ends or much has been gathered.

    A server that is not connected answers within ``depart``, and clients then send their next commands: these depart in
    the next turn, behind all that was gathered before.
    """

    def __init__(self, coordinator: Coordinator, *, clients: Sized, writes: GatheredWrites) -> None:
        self._coordinator = coordinator
        self._clients = clients
        self._writes = writes
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()  # runs, and what travels by itself, in order of departure
        self._latest: dict[CommandKind, _BatchRun] = {}  # the last run of each kind, which takes further commands
        self._count = 0
        self._departing = False
        self.departs_soon = False
        """Someone will call ``depart``."""

    def gather(
        self, kind: CommandKind, level: Level, protocol: int, packed: bytes, count: int, done: Done, *, ordered: bool
    ) -> None:
        """Submit a run of commands, together with those of other clients in this turn of the loop that are alike.

        ``ordered``: others of this client may be among what has been gathered, and go first.
        """
        if len(self._clients) == 1 and not (self._waiting or self._departing):
            self._coordinator.submit(level, kind.run(count, protocol), done, packed=packed)
            return
        run = self._latest.get(kind)
        if (
            run is None
            or run.level is not level
            or run.protocol != protocol
            or (ordered and run is not self._waiting[-1])
        ):
            run = self._begin(kind, level, protocol)
        run.members.append((kind.run(count, protocol), done))
        run.packed.append(packed)
        run.count += count
        self._count += count
        if self._count > _GATHERED_MAX:
            self.depart()

    def add(self, run: Callable[[], None]) -> None:
        """Let ``run`` depart with what is gathered; nothing of its clients is."""
        self._waiting.append(run)

    def submit(
        self, coordinator: Coordinator, level: Level, commands: Sequence[Command], packed: bytes, done: Done
    ) -> None:
        """Submit what travels by itself to ``coordinator``, behind what has been gathered."""
        self._latest.clear()
        self._waiting.append(partial(coordinator.submit, level, commands, done, packed=packed))
        self.depart()

    def depart(self) -> None:
        """Submit what has been gathered; within another call, leave it to the next turn of the loop."""
        if self._departing:
            return
        self._departing = self.departs_soon = True
        self._latest.clear()
        self._count = 0
        waiting = self._waiting
        try:
            with self._writes:
                for _ in range(len(waiting)):
                    waiting.popleft()()
        finally:
            self._departing = False
            self.departs_soon = bool(waiting)
            if waiting:
                self._loop.call_soon(self.depart)

    def _begin(self, kind: CommandKind, level: Level, protocol: int) -> _BatchRun:
        run = self._latest[kind] = _BatchRun(self._coordinator, kind, level, protocol)
        self._waiting.append(run)
        if not self.departs_soon:
            self.departs_soon = True
            self._loop.call_soon(self.depart)
        return run
