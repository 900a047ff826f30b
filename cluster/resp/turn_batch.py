"""What clients of one port ask in the same turn of the event loop, and the coordinator can send on together."""

import asyncio
from collections.abc import Sized

from cluster.coordinators.coordinator import Coordinator
from cluster.resp.commands.command_table import Kind
from cluster.resp.protocol.upstream import GatheredWrites
from cluster.votes.levels import Level
from cluster.votes.pipeline import Done
from cluster.votes.shared_batch import Member

_GATHERED_MAX = 128
"""So many commands travel together at most: servers begin with the first ones while the rest of a busy turn is read."""


class _Run:
    """Commands of one kind that can travel together, and whose they are."""

    __slots__ = ("count", "level", "members", "packed", "protocol", "single")

    def __init__(self, kind: Kind, level: Level, protocol: int) -> None:
        self.level = level
        self.protocol = protocol
        self.single = kind.run(1, protocol)
        self.members: list[Member] = []
        self.packed: list[bytes] = []
        self.count = 0


class TurnBatch:
    """Runs of commands that are alike, of several of ``clients``, until the turn ends or much has been gathered."""

    def __init__(self, coordinator: Coordinator, *, clients: Sized, writes: GatheredWrites) -> None:
        self._coordinator = coordinator
        self._clients = clients
        self._writes = writes
        self._loop = asyncio.get_running_loop()
        self._runs: dict[Kind, _Run] = {}
        self._count = 0
        self.departs_soon = False
        """Someone will call ``depart``."""

    def gather(
        self, kind: Kind, level: Level, protocol: int, packed: bytes, count: int, done: Done, *, ordered: bool
    ) -> None:
        """Submit a run of commands, together with those of other clients in this turn of the loop that are alike.

        ``ordered``: others of this client may be among what has been gathered, and go first.
        """
        if len(self._clients) == 1 and not self._runs:
            self._coordinator.submit(level, kind.run(count, protocol), done, packed=packed)
            return
        run = self._runs.get(kind)
        if run is None or run.level is not level or run.protocol != protocol or (ordered and len(self._runs) > 1):
            if ordered or run is not None:
                self.depart()
            run = self._begin(kind, level, protocol)
        run.members.append((kind.run(count, protocol), done))
        run.packed.append(packed)
        run.count += count
        self._count += count
        if self._count > _GATHERED_MAX:
            self.depart()

    def gather_single(self, kind: Kind, level: Level, protocol: int, packed: bytes, done: Done) -> None:
        """The same for one command of a client of which nothing else is among what has been gathered."""
        run = self._runs.get(kind)
        if run is None or run.level is not level or run.protocol != protocol:
            if len(self._clients) == 1 and not self._runs:
                self._coordinator.submit(level, kind.run(1, protocol), done, packed=packed)
                return
            if run is not None:
                self.depart()
            run = self._begin(kind, level, protocol)
        run.members.append((run.single, done))
        run.packed.append(packed)
        run.count += 1
        self._count += 1
        if self._count > _GATHERED_MAX:
            self.depart()

    def _begin(self, kind: Kind, level: Level, protocol: int) -> _Run:
        run = self._runs[kind] = _Run(kind, level, protocol)
        if not self.departs_soon:
            self.departs_soon = True
            self._loop.call_soon(self.depart)
        return run

    def depart(self) -> None:
        """Submit what has been gathered."""
        runs, self._runs = self._runs, {}
        self._count, self.departs_soon = 0, False
        with self._writes:
            for kind, run in runs.items():
                if len(run.members) == 1:
                    [(commands, done)] = run.members
                    self._coordinator.submit(run.level, commands, done, packed=run.packed[0])
                else:
                    commands = kind.run(run.count, run.protocol)
                    self._coordinator.submit_together(run.level, run.members, commands, b"".join(run.packed))
