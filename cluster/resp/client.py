"""The clients of a RESP port as their commands see them: each for itself, and what they share."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any

from zonelab.cluster.client.transactions import WatchedKeys
from zonelab.cluster.client.waiting import WaitingRoom
from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.resp.busy_poll import BusyPoll
from zonelab.cluster.resp.gradual_freeing import GradualFreeing
from zonelab.cluster.resp.held_bytes import HeldBytes
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, CommandDescription, CommandKind, CommandTable
from zonelab.cluster.resp.protocol.remembered_scripts import RememberedScripts
from zonelab.cluster.resp.protocol.subscription import Subscription
from zonelab.cluster.resp.protocol.unpacker import Unpacker
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, WireCommands
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.resp.single_commands import SingleCommands
from zonelab.cluster.resp.turn_batch import TurnBatch
from zonelab.cluster.resp.turn_shares import TurnShares
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import Done, Outcome
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Runtime

Sampler = Callable[[Level, bool, Done], Done]
"""Wraps the callback of a run that is to be measured, given its level and whether it only reads.

Whoever sets ``until_sample`` to n gets the n-th run from then on; a port without a sampler never gets to 0.
"""


@dataclass
class PortStatistics:
    """Counts since the port began."""

    accepted: int = 0
    refused_full: int = 0
    protocol_errors: int = 0
    error_replies: int = 0
    over_memory: int = 0
    commands: int = 0  # of clients that have left


class PortHost:
    """State that the clients of one port share. Its coordinator has channels that carry bytes (``RawUpstream``).

    ``lease`` gives a coordinator for one client that watches keys, given its ``WATCH``; ``release`` takes it back.
    ``writes``: of those channels. ``scripts``: where a note is taken of those that clients send.
    """

    def __init__(
        self,
        *,
        coordinator: Coordinator,
        table: CommandTable,
        own_address: Address,
        settings: PortSettings,
        level: Level,
        lease: Callable[[bytes], Awaitable[Coordinator]],
        release: Callable[[Coordinator], None],
        writes: GatheredWrites,
        runtime: Runtime,
        scripts: RememberedScripts | None = None,
        product: str = "valkey",
        version: str = "0.0.0",
    ) -> None:
        self.coordinator = coordinator
        self.table = table if scripts is None else table.remembering_scripts()
        self.scripts = scripts
        self.own_address = own_address
        self.settings = settings
        self.read_level = self.write_level = level
        self.lease = lease
        self.release = release
        self.writes = writes
        self.product = product
        self.version = version
        self.statistics = PortStatistics()
        self.unpacker = Unpacker()
        self.room: WaitingRoom[bytes] = WaitingRoom(runtime, self._look_at_level)
        """Waits of clients in blocking commands."""
        self.until_sample = 0
        self.sampler: Sampler = lambda _level, _reads, done: done
        self.loop = asyncio.get_running_loop()
        self.memory = HeldBytes(
            settings.held_bytes_max,
            under_way=settings.reply_bytes,
            loop=self.loop,
            on_closed=self._count_over_memory,
        )
        self.freeing = GradualFreeing(self.loop)
        self.turns = TurnShares(self.loop)
        self.look_at_all = asyncio.Lock()
        """Held by a client whose command looks at all the others, if they are many."""
        self.polling = BusyPoll(self.loop, duration_us=settings.busy_poll_us) if settings.busy_poll_us else None
        self._clients: dict[PortClient, None] = {}
        self.turn = TurnBatch(coordinator, clients=self._clients, writes=writes)
        self.singles = SingleCommands(
            coordinator=coordinator,
            table=self.table,
            unpacker=self.unpacker,
            turn=self.turn,
            polling=self.polling,
            connected=self._clients,
            sampled=self,
            loop=self.loop,
        )
        self._identities = 0

    @property
    def clients(self) -> list["PortClient"]:
        return list(self._clients)

    def admit(self, client: "PortClient") -> bool:
        """Take ``client`` on; False if as many as may be are connected already."""
        if len(self._clients) >= self.settings.clients_max:
            self.statistics.refused_full += 1
            return False
        self.statistics.accepted += 1
        self._identities += 1
        client.identity = self._identities
        self._clients[client] = None
        return True

    def _look_at_level(self, where: tuple[Level, bytes], answered: Callable[[bool], None]) -> None:
        level, key = where

        def done(outcome: Outcome) -> None:
            answered(wire.joined(outcome) == b":1\r\n")

        self.coordinator.submit(level, KINDS[CommandRoute.READ].run(1, 2), done, packed=wire.command(b"EXISTS", key))

    def _count_over_memory(self) -> None:
        self.statistics.over_memory += 1

    def dismiss(self, client: "PortClient") -> None:
        self.statistics.commands += client.commands
        self._clients.pop(client, None)

    def figures(self) -> dict[bytes, int]:
        """Figures on clients, by the names that servers have for them in INFO."""
        return {
            b"blocked_clients": self.room.waiting,
            b"connected_clients": len(self._clients),
            b"maxclients": self.settings.clients_max,
            b"rejected_connections": self.statistics.refused_full,
            b"total_connections_received": self.statistics.accepted,
        }

    def counts(self) -> dict[str, Any]:
        counts = asdict(self.statistics)
        counts["commands"] += sum(client.commands for client in self._clients)
        return {**counts, "clients": len(self._clients), "held_bytes": self.memory.total}


class PortClient(ABC):
    """One client of a port: what commands know of it, and what they may do for it."""

    __slots__ = (
        "_transport", "authenticated", "born_s", "closing", "commands", "coordinator", "has_written", "host",
        "identity", "last_command", "last_s", "library", "lost", "name", "plain", "protocol", "queue_failed",
        "queued", "queued_bytes", "read_level", "subscription", "watching", "write_level",
    )  # fmt: skip

    def __init__(self, host: PortHost) -> None:
        self.host = host
        self.identity = 0
        self.name = b""
        self.library: dict[bytes, bytes] | None = None
        self.protocol = 2
        self.authenticated = host.settings.password is None
        self.read_level = host.read_level
        self.write_level = host.write_level
        self.coordinator: Coordinator = host.coordinator
        self.queued: list[tuple[bytes, CommandKind]] | None = None  # commands after MULTI
        self.queued_bytes = 0
        self.queue_failed = False
        self.watching: WatchedKeys | None = None
        self.subscription: Subscription | None = None
        self.closing = False
        self.lost = False
        """The connection is gone; nobody reads what it is sent."""
        self.plain = self.authenticated  # commands may go straight to the coordinator
        self.commands = 0
        self.last_command: CommandDescription | None = None  # or one that is unknown
        self.has_written = False
        """Some zone may not have carried out all that this client has sent on the connections that clients share."""
        self.born_s = self.last_s = time.monotonic()
        self._transport: asyncio.Transport | None = None

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self.host.loop

    def reset(self) -> None:
        """Back to how the connection began."""
        self.queued = None
        self.forget_watch()
        self.unsubscribe()
        self.protocol = 2
        self.name = b""
        self.read_level, self.write_level = self.host.read_level, self.host.write_level
        self.authenticated = self.host.settings.password is None
        self.settle()

    def settle(self) -> None:
        """Decide again if commands go straight to the coordinator (``plain``); to be called after changes of state."""
        subscribed = self.subscription is not None and self.subscription.restricts(self.protocol)
        self.plain = self.authenticated and self.queued is None and not subscribed

    def level_for(self, kind: CommandKind) -> Level:
        """The level at which a command of ``kind`` is sent now, on the connections that clients share."""
        if kind.reads:
            return self.read_level
        self.has_written = True
        return self.write_level

    def forget_watch(self) -> None:
        if self.watching is not None:
            watching, self.watching = self.watching, None
            self.host.release(watching.coordinator)

    def figures(self) -> dict[bytes, int]:
        return self.host.figures()

    def unsubscribe(self) -> None:
        if self.subscription is not None:
            self.subscription.close()
            self.subscription = None

    def error(self, text: str) -> None:
        self.host.statistics.error_replies += 1
        self.reply(wire.error(text))

    def write(self, data: bytes) -> None:
        """Send ``data`` out of the order of answers."""
        if not (self.closing or self.lost):
            self._transport.write(data)  # type: ignore[union-attr]

    def close(self) -> None:
        """Close the connection once what has been written is sent."""
        self.closing = True
        self.transport.close()

    @abstractmethod
    def admit(self) -> None:
        """The client has logged in."""

    @abstractmethod
    def reply(self, data: bytes) -> None:
        """Answer a command at once, but after all earlier ones."""

    @abstractmethod
    def hang_up(self, last: bytes = b"") -> None:
        """Close the connection after all earlier answers and ``last``; what the client still sends is ignored."""

    @abstractmethod
    def submit(self, kind: CommandKind, raws: list[bytes]) -> None:
        """Hand a run of commands of one kind to the coordinator, with what others submit in this turn of the loop."""

    @abstractmethod
    def submit_set(self, raw: bytes) -> None:
        """Hand over a read that is answered with an array and give the client a set."""

    @abstractmethod
    def submit_info(self, raw: bytes) -> None:
        """Hand over an INFO and give the client the port's own figures of clients in place of the server's."""

    @abstractmethod
    def submit_as(self, kind: CommandKind, commands: WireCommands, packed: bytes) -> None:
        """Hand over what must travel by itself."""

    @abstractmethod
    def call(
        self, kind: CommandKind, raw: bytes, *, through: Coordinator | None = None, **marks: Any
    ) -> Awaitable[Outcome]:
        """Run one command for an exclusive handler and give its outcome to that, not to the client."""

    @abstractmethod
    async def in_order(self, ready: Awaitable[None]) -> None:
        """Wait for ``ready`` in an exclusive handler that has answered; what comes next is carried out even so."""

    @abstractmethod
    def exclusively(self, handler: Callable[[], Awaitable[bytes]], *, soon: bool = False) -> None:
        """Answer with what ``handler`` returns; it begins after all earlier answers, and later commands wait for it.

        ``soon``: it waits for nothing that may never come, so a client that has closed its sending side gets it.
        """
