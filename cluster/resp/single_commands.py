"""Single commands that many clients send in one turn of the loop, looked at together.

A client that waits for each answer sends one command at a time. To look at each by itself costs more than to carry it
out, so those of one turn are looked at in one go, sent on together and answered together, and what turns out to be
anything else is left to its client.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence, Sized
from typing import Protocol, cast, overload

from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.resp.busy_poll import BusyPoll
from zonelab.cluster.resp.protocol.command_table import CommandDescription, CommandKind, CommandTable, Treatment
from zonelab.cluster.resp.protocol.unpacker import Unpacker
from zonelab.cluster.resp.reply_slots import ReplySlot
from zonelab.cluster.resp.turn_batch import TurnBatch
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import Done, Outcome
from zonelab.cluster.votes.shared_batch import Member, MembersOfOne

SINGLE_BYTES_MAX = 4 * 1024
"""Longer commands are not looked at together."""

LARGE_BYTES = 16 * 1024

_TOGETHER_MAX = 128
"""Most commands that go together: servers begin with the first ones while the rest of a busy turn is read."""

NO, QUIET, ARRIVED, ASKED = range(4)
"""Such a client has nothing under way, or a command that has arrived in this turn of the loop, or one to be answered.

It is one no more as soon as anything else happens, until it has once more had a single command answered.
"""


class SingleClient(Protocol):
    """A client that has nothing under way."""

    closing: bool
    commands: int
    has_written: bool
    in_flight: int
    last_command: CommandDescription | None
    protocol: int
    read_level: Level
    single: int
    single_slot: ReplySlot
    slots: deque[ReplySlot]
    write_level: Level
    write_paused: bool

    send: Callable[[bytes], None]

    def level_for(self, kind: CommandKind) -> Level:
        """The level at which a command of ``kind`` is sent now."""

    def received(self, data: bytes) -> None:
        """Take what may be anything."""

    def answered_single(self, outcome: Outcome) -> None:
        """Take what came of the command that was asked."""


class LatencySampler(Protocol):
    """The part of ``zonelab.cluster.resp.client.PortHost`` that chooses which commands are measured."""

    until_sample: int
    sampler: Callable[[Level, bool, Done], Done]


class _CommandRun(MembersOfOne):
    """Commands of one kind, one of each of ``clients``. A call submits them to ``coordinator``."""

    __slots__ = ("_coordinator", "_kind", "clients", "level", "packed", "protocol")

    def __init__(self, coordinator: Coordinator, kind: CommandKind, level: Level, protocol: int) -> None:
        self._coordinator = coordinator
        self._kind = kind
        self.level = level
        self.protocol = protocol
        self.clients: list[SingleClient] = []
        self.packed: list[bytes] = []

    def __call__(self) -> None:
        count = len(self.clients)
        commands = self._kind.run(count, self.protocol)
        if count == 1:
            done = self.clients[0].answered_single
            self._coordinator.submit(self.level, commands, done, packed=self.packed[0])
        else:
            self._coordinator.submit_together(self.level, self, commands, b"".join(self.packed))

    def tell(self, replies: Outcome) -> None:
        for client, reply in zip(self.clients, cast(list[bytes], replies), strict=True):
            if client.single == ASKED and not client.write_paused and len(reply) <= LARGE_BYTES:
                client.slots.clear()
                client.in_flight = 0
                client.single = QUIET
                client.send(reply)
            else:
                client.answered_single([reply])

    def __len__(self) -> int:
        return len(self.clients)

    @overload
    def __getitem__(self, index: int) -> Member: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Member]: ...
    def __getitem__(self, index: int | slice) -> Member | Sequence[Member]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        return self._kind.run(1, self.protocol), self.clients[index].answered_single


class SingleCommands:
    """Commands that clients with nothing under way have sent in this turn of the loop."""

    def __init__(
        self,
        *,
        coordinator: Coordinator,
        table: CommandTable,
        unpacker: Unpacker,
        turn: TurnBatch,
        polling: BusyPoll | None,
        connected: Sized,
        sampled: LatencySampler,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._coordinator = coordinator
        self._by_name = table.by_name
        self._unpacker = unpacker
        self._turn = turn
        self._polling = polling
        self._connected = connected
        self._sampled = sampled
        self._loop = loop
        self._clients: list[SingleClient] = []
        self._received: list[bytes] = []

    def add(self, client: SingleClient, data: bytes) -> None:
        """Take this together with what others send, at the end of the turn."""
        if len(self._connected) == 1:
            if self._polling is not None:
                self._polling.touch()
            self._take_alone(client, data)
            return
        clients = self._clients
        clients.append(client)
        self._received.append(data)
        count = len(clients)
        if count == 1:
            self._loop.call_soon(self.take)
        elif count == _TOGETHER_MAX:
            self.take()

    def take(self) -> None:
        """Take it now."""
        clients, received = self._clients, self._received
        if not clients:
            return
        self._clients, self._received = [], []
        if self._polling is not None:
            self._polling.touch(len(clients))
        turn = self._turn
        turn.departs_soon = True
        try:
            self._sample(clients, received)
            self._take_together(clients, received)
        finally:
            turn.depart()

    def _take_together(self, clients: list[SingleClient], received: list[bytes]) -> None:
        turn, by_name = self._turn, self._by_name
        odd: list[tuple[SingleClient, bytes]] = []
        runs: dict[CommandKind, _CommandRun] = {}
        for client, name, raw in zip(clients, self._unpacker.names(received), received, strict=True):
            spec = by_name.get(name)  # type: ignore[arg-type]
            if spec is None or spec.treatment is not Treatment.FORWARD or client.closing:
                odd.append((client, raw))
                continue
            kind = spec.kind
            level = client.read_level if kind.reads else client.write_level
            run = runs.get(kind)
            if run is None or run.level is not level or run.protocol != client.protocol:
                run = runs[kind] = _CommandRun(self._coordinator, kind, level, client.protocol)
                turn.add(run)
            client.has_written |= not kind.reads
            client.commands += 1
            client.last_command = spec
            client.in_flight = 1
            client.single = ASKED
            client.slots.append(client.single_slot)
            run.clients.append(client)
            run.packed.append(raw)
        self._sampled.until_sample += len(odd)  # which are counted where they are sent on, if they are
        for client, raw in odd:
            client.received(raw)

    def _sample(self, clients: list[SingleClient], received: list[bytes]) -> None:
        """Count the commands of ``clients``; those that are to be measured are taken out and gathered by themselves."""
        sampled, counted = self._sampled, 0
        while 0 < sampled.until_sample <= len(clients) - counted:
            counted += sampled.until_sample - 1
            sampled.until_sample = 1
            self._take_alone(clients.pop(counted), received.pop(counted))
        sampled.until_sample -= len(clients) - counted

    def _take_alone(self, client: SingleClient, raw: bytes) -> None:
        spec = self._by_name.get(self._unpacker.names([raw])[0])  # type: ignore[arg-type]
        if spec is None or spec.treatment is not Treatment.FORWARD or client.closing:
            client.received(raw)
            return
        kind, sampled = spec.kind, self._sampled
        level = client.level_for(kind)
        client.commands += 1
        client.last_command = spec
        client.in_flight = 1
        client.single = ASKED
        client.slots.append(client.single_slot)
        done: Done = client.answered_single
        sampled.until_sample -= 1
        if not sampled.until_sample:
            done = sampled.sampler(level, kind.reads, done)
        self._turn.gather(kind, level, client.protocol, raw, 1, done, ordered=False)
