"""The RESP port of one zone: listens, and knows its clients."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cluster.commands.routes import Route
from cluster.convoy import Member
from cluster.coordinator import Coordinator
from cluster.resp.commands.busy_poll import BUSY_POLL_US, BUSY_POLL_US_MAX, BusyPoll
from cluster.resp.commands.command_table import KINDS, CommandTable, Kind
from cluster.resp.protocol.scanner import CommandLimits, Unpacker
from cluster.resp.session import Session
from cluster.votes.pipeline import Done
from cluster.votes.vote import Level
from cluster.zone import Address, ClusterError

_BACKLOG = 4096
_GATHERED_MAX = 128
"""So many commands travel together at most: servers begin with the first ones while the rest of a busy turn is read."""

Sampler = Callable[[Level, bool, Done], Done]
"""

Whoever sets ``until_sample`` to n gets the n-th run from then on; a server without a sampler never gets to 0.
"""


@dataclass(frozen=True, kw_only=True)
class PortSettings:
    """How a port listens and what a client may cost.

    ``reply_bytes``: memory for the replies to one client that are under way. ``in_flight_max``: its commands under way.
    ``held_bytes_max``: incomplete commands of all clients. ``zone_backlog_bytes``: what waits to be sent to one zone.
    ``busy_poll_us``: how long after each request the process does not sleep; 0: it sleeps at once.
    """

    host: str = "127.0.0.1"
    port: int = 0
    password: str | None = field(default=None, repr=False)
    certificate: Path | None = None
    private_key: Path | None = None
    clients_max: int = 10_000
    in_flight_max: int = 1024
    reply_bytes: int = 16 * 1024 * 1024
    held_bytes_max: int = 512 * 1024 * 1024
    zone_backlog_bytes: int = 256 * 1024 * 1024
    busy_poll_us: int = BUSY_POLL_US
    commands: CommandLimits = field(default_factory=CommandLimits)

    def __post_init__(self) -> None:
        if (self.certificate is None) is not (self.private_key is None):
            raise ValueError("TLS needs both a certificate and a private key, got only one of them")
        for name in ("clients_max", "in_flight_max", "reply_bytes", "held_bytes_max", "zone_backlog_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.busy_poll_us <= BUSY_POLL_US_MAX:
            raise ValueError(f"busy_poll_us must be 0 to {BUSY_POLL_US_MAX}, got {self.busy_poll_us}")

    def tls(self) -> ssl.SSLContext | None:
        """Raises ``ClusterError`` if the files are not what they should be."""
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.private_key)
        except (OSError, ssl.SSLError) as error:
            raise ClusterError(f"certificate {self.certificate} cannot be used: {error}") from error
        return context


@dataclass
class PortStatistics:
    """Counts since the port began."""

    accepted: int = 0
    refused_full: int = 0
    protocol_errors: int = 0
    error_replies: int = 0
    over_memory: int = 0
    commands: int = 0  # of clients that have left


class RespServer:
    """Serves clients through ``coordinator``. Give it a coordinator whose channels carry bytes (``RawUpstream``).

    ``lease`` gives a coordinator for one client that watches keys, given its ``WATCH``; ``release`` takes it back.
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
        product: str = "valkey",
        version: str = "0.0.0",
    ) -> None:
        self.coordinator = coordinator
        self.table = table
        self.own_address = own_address
        self.settings = settings
        self.read_level = self.write_level = level
        self.lease = lease
        self.release = release
        self.product = product
        self.version = version
        self.statistics = PortStatistics()
        self.unpacker = Unpacker()
        self.held_bytes = 0
        self.until_sample = 0
        self.sampler: Sampler = lambda _level, _reads, done: done
        self.loop = asyncio.get_running_loop()
        self.polling = BusyPoll(self.loop, duration_us=settings.busy_poll_us) if settings.busy_poll_us else None
        self._sessions: dict[Session, None] = {}
        self._identities = 0
        self._members: list[Member] = []
        self._packed: list[bytes] = []
        self._count = 0
        self._kind = KINDS[Route.WRITE]
        self._level = level
        self._protocol = 2
        self._listener: asyncio.Server | None = None

    @property
    def sessions(self) -> Iterable[Session]:
        return list(self._sessions)

    @property
    def address(self) -> Address:
        if self._listener is None:
            raise ClusterError("the port does not listen")
        host, port = self._listener.sockets[0].getsockname()[:2]
        return Address(host, port)

    async def start(self) -> None:
        """Listen. Raises ``ClusterError`` if the address cannot be had."""
        settings = self.settings
        try:
            self._listener = await self.loop.create_server(
                lambda: Session(self), settings.host, settings.port, ssl=settings.tls(), backlog=_BACKLOG
            )
        except OSError as error:
            raise ClusterError(f"cannot listen at {settings.host}:{settings.port}: {error}") from error

    async def stop(self) -> None:
        """Stop listening and drop every client."""
        if self._listener is not None:
            self._listener.close()
            for session in self.sessions:
                session.transport.abort()
            await self._listener.wait_closed()
            self._listener = None

    def admit(self, session: Session) -> bool:
        if len(self._sessions) >= self.settings.clients_max:
            self.statistics.refused_full += 1
            return False
        self.statistics.accepted += 1
        self._identities += 1
        session.identity = self._identities
        self._sessions[session] = None
        return True

    def dismiss(self, session: Session, *, held: int) -> None:
        self.held_bytes -= held
        self.statistics.commands += session.commands
        self._sessions.pop(session, None)

    def gather(self, kind: Kind, level: Level, protocol: int, packed: bytes, count: int, done: Done) -> None:
        """Submit a run of commands, together with those of other clients in this turn of the loop that are alike."""
        if len(self._sessions) == 1 and not self._members:
            self.coordinator.submit(level, kind.run(count, protocol), done, packed=packed)
            return
        if kind is not self._kind or level is not self._level or protocol != self._protocol:
            self.depart()
            self._kind, self._level, self._protocol = kind, level, protocol
        members = self._members
        if not members:
            self.loop.call_soon(self.depart)
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
            self.coordinator.submit(self._level, commands, done, packed=packed[0])
        else:
            commands = self._kind.run(count, self._protocol)
            self.coordinator.submit_together(self._level, members, commands, b"".join(packed))

    def counts(self) -> dict[str, Any]:
        counts = asdict(self.statistics)
        counts["commands"] += sum(session.commands for session in self._sessions)
        return {**counts, "clients": len(self._sessions), "held_bytes": self.held_bytes}
