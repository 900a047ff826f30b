"""Connection of a program that has an address of its own: it can be held, and its answers withheld."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import hiredis

from zonelab.cluster.client.transactions import answered_everywhere
from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.resp.client import PortHost
from zonelab.cluster.resp.commands.dispatch import dispatch
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.scanner import CommandScanner, ProtocolError
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.session import ConnectionSession
from zonelab.cluster.resp.single_commands import ARRIVED

LOOK_S = 0.001
"""Time between looks at whether a held connection has its answers; nobody looks at any other connection."""

_LATER_BYTES_MAX = 64 * 1024
_PING = wire.command(b"PING")


class ConnectedProgram(Protocol):
    """The program to which a connection belongs."""

    watched: bool
    """Its commands are looked at one by one."""

    def came(self, session: "ProgramSession") -> None:
        """``session`` is connected."""

    def left(self, session: "ProgramSession") -> None:
        """``session`` is gone."""

    def take(self, session: "ProgramSession", commands: list[bytes]) -> None:
        """Take what ``session`` has sent, while the program is watched."""


class ProgramSession(ConnectionSession):
    """A connection of a program.

    As long as the program is not watched, it is as any other, fast paths included. Then what arrives is cut into
    commands and goes to the program first, which passes it on with ``forward``.
    """

    __slots__ = ("_cutter", "_later", "_pending", "_withheld", "hear", "program")

    def __init__(self, host: PortHost, program: ConnectedProgram) -> None:
        super().__init__(host, dispatch)
        self.program = program
        self.hear: Callable[[bytes], None] | None = None
        """Takes what has arrived; what arrives while the connection is held comes when it goes on."""
        self._cutter: CommandScanner | None = None
        self._pending: list[bytes] = []  # commands that wait until the connection is no longer held
        self._later: bytearray | None = None  # what has arrived since it is held
        self._withheld: list[bytes] | None = None

    @property
    def peer(self) -> str:
        """Return the address of its other end."""
        name = self.transport.get_extra_info("peername")
        return f"{name[0]}:{name[1]}" if name else "?:0"

    @property
    def held(self) -> bool:
        return self._later is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self.closing:
            self.program.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.held:
            self._deaf = True  # what it has sent since then is not carried out
        super().connection_lost(exc)

    def _leave(self) -> None:
        super()._leave()
        self.program.left(self)

    def admit(self) -> None:
        super().admit()
        if self._cutter is not None:
            self._cutter.admit()

    def data_received(self, data: bytes) -> None:
        hear = self.hear if self._later is None else None
        if self.program.watched or self._cutter is not None or self._later is not None:
            if self.single == ARRIVED:
                self.host.singles.take()
            self._cut(data)
        else:
            super().data_received(data)
        if hear is not None:
            hear(data)

    def write(self, data: bytes) -> None:
        if self._withheld is None:
            super().write(data)
        else:
            self._withheld.append(data)

    def forward(self, commands: list[bytes]) -> None:
        """Carry ``commands`` out as those of any other client."""
        if commands:
            self.received(b"".join(commands))

    def hold(self, pending: list[bytes] | None = None) -> None:
        """Take nothing more from the client; ``pending`` comes first when it goes on."""
        self.host.singles.take()
        if self._later is None:
            self._later = bytearray()
        self._pending = pending or self._pending

    def take_pending(self) -> list[bytes]:
        """Return the commands that are pending, and have none."""
        pending, self._pending = self._pending, []
        return pending

    def thaw(self) -> None:
        """Go on with what is pending, and with what has arrived since the connection is held."""
        if self._later is None:
            return
        later, self._later = bytes(self._later), None
        if self.closing or self.lost:
            return
        if pending := self.take_pending():
            self.program.take(self, pending)
        if later:
            self.data_received(later)
        self._regulate()

    def withhold(self) -> None:
        """Keep what is to be written from now on."""
        self._withheld = []

    def deliver(self) -> None:
        """Write what was withheld; what is written from now on is sent."""
        withheld, self._withheld = self._withheld, None
        if withheld:
            self.write(b"".join(withheld))

    def withholds_nothing(self, index: int) -> bool:
        """Return whether the answer of that index among those withheld holds nothing, or is not there."""
        reader = hiredis.Reader()
        reader.feed(b"".join(self._withheld or ()))
        for _ in range(index):
            reader.gets()
        return _holds_nothing(reader.gets())

    async def drained(self) -> None:
        """Return when all that was forwarded has been answered, or the connection is gone."""
        while not (self.closing or self.lost or (self._scanner.idle and not (self.slots or self._busy))):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    async def answered_everywhere(self) -> None:
        """Return when every zone has answered all that this port has sent it, or has failed to."""
        commands = WireCommands([("PING",)], protocol=self.protocol)
        batch = Batch(commands, writes=True, packed=_PING)  # with the time-out of what it comes behind
        await answered_everywhere(self.loop.create_future, self.coordinator.channels, batch)

    async def flushed(self) -> None:
        """Return when the kernel has all that was written, or the connection is gone."""
        while not (self.closing or self.lost) and self.transport.get_write_buffer_size():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    def _cut(self, data: bytes) -> None:
        if self._later is not None:
            self._later += data
            if len(self._later) > _LATER_BYTES_MAX:
                self._reading = False
                self.transport.pause_reading()
            return
        if self._cutter is None:
            if not self._scanner.idle:  # in the middle of a command
                self.received(data)
                return
            self._cutter = CommandScanner(
                self.host.settings.commands, guest=not self.authenticated, unpacker=self.host.unpacker
            )
        commands, wrong = cut_off(self._cutter, data)
        if self.program.watched:
            self.program.take(self, commands)
        else:
            self.forward(commands)
        if wrong is not None:
            self._misspoke(wrong)
        elif self._cutter.idle and not self.program.watched:
            self._cutter = None


def cut_off(scanner: CommandScanner, data: bytes) -> tuple[list[bytes], str | None]:
    """Return the commands that are complete with ``data``, and what is wrong with what follows them."""
    scanner.feed(data)
    commands: list[bytes] = []
    try:
        while (found := scanner.next()) is not None or scanner.ready:
            if found is not None:
                commands.append(found[1])
    except ProtocolError as wrong:
        return commands, str(wrong)
    return commands, None


def _holds_nothing(answer: object) -> bool:
    """Return whether an answer is nil, 0, an error, empty, or an array of nothing else."""
    if isinstance(answer, list | set):
        return all(map(_holds_nothing, answer))
    return not answer or isinstance(answer, hiredis.HiredisError)
