"""What clients of one port ask in the same turn of the event loop, and the coordinator can send on together."""

import asyncio
from collections.abc import Sized

from cluster.commands.routes import Route
from cluster.coordinators.coordinator import Coordinator
from cluster.resp.commands.command_table import KINDS, Kind
from cluster.votes.levels import Level
from cluster.votes.pipeline import Done
from cluster.votes.shared_batch import Member

_GATHERED_MAX = 128
"""So many commands travel together at most: servers begin with the first ones while the rest of a busy turn is read."""


class TurnBatch:
    """Runs of commands that are alike, of several of ``clients``, until the turn ends or others are asked for."""

    def __init__(self, coordinator: Coordinator, *, clients: Sized, level: Level) -> None:
        self._coordinator = coordinator
        self._clients = clients
        self._loop = asyncio.get_running_loop()
        self._members: list[Member] = []
        self._packed: list[bytes] = []
        self._count = 0
        self._kind = KINDS[Route.WRITE]
        self._level = level
        self._protocol = 2

    def gather(self, kind: Kind, level: Level, protocol: int, packed: bytes, count: int, done: Done) -> None:
        """Submit a run of commands, together with those of other clients in this turn of the loop that are alike."""
        if len(self._clients) == 1 and not self._members:
            self._coordinator.submit(level, kind.run(count, protocol), done, packed=packed)
            return
        if kind is not self._kind or level is not self._level or protocol != self._protocol:
            self.depart()
            self._kind, self._level, self._protocol = kind, level, protocol
        members = self._members
        if not members:
            self._loop.call_soon(self.depart)
        members.append((kind.run(count, protocol), done))
        self._packed.append(packed)
        self._count += count
        if self._count > _GATHERED_MAX:
            self.depart()

    def depart(self) -> None:
        """Submit what has been gathered."""
        members, packed, count = self._members, self._packed, self._count
        if not members:
            return
        self._members, self._packed, self._count = [], [], 0
        if len(members) == 1:
            [(commands, done)] = members
            self._coordinator.submit(self._level, commands, done, packed=packed[0])
        else:
            commands = self._kind.run(count, self._protocol)
            self._coordinator.submit_together(self._level, members, commands, b"".join(packed))
