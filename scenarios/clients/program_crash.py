"""Crashes of programs: between two commands, or with commands on their way."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from zonelab.engine.ports import Clock, Command, Connection, Reply, Runtime
from zonelab.scenarios.clients.program_view import ProgramClock, ProgramRuntime, ProgramView


class ProgramCrashed(BaseException):
    """The program has ended here. Not an ``Exception``: nothing inside a dead program can handle it."""


class Routable(ABC):
    """A connection that a client policy makes one of a certain program: see ``zonelab.scenarios.clients.policy``.

    A base class and no protocol: ``wrapped`` asks for it often, and ``isinstance`` is slow with protocols.
    """

    @abstractmethod
    def routed(self, process: str, wrap: Callable[[Connection], Connection]) -> Connection:
        """The connection of the program ``process``; each attempt passes through ``wrap``."""


def wrapped(connection: Connection, process: str, wrap: Callable[[Connection], Connection]) -> Connection:
    """``connection`` of the program ``process``, all of whose commands, sent again or not, pass through ``wrap``."""
    return connection.routed(process, wrap) if isinstance(connection, Routable) else wrap(connection)


class CrashSwitch:
    """Switch that ends the program ``process``: after ``crash`` it stops where it would send its next command."""

    def __init__(self, process: str) -> None:
        self.view = ProgramView()
        self._process = process
        self._crashed = False
        self._commands_left: int | None = None
        self._instead: Callable[[], None] | None = None
        self._hear: list[Callable[[], None]] = []

    @property
    def crashed(self) -> bool:
        return self._crashed

    def crash(self, *, at_command: int = 1) -> None:
        """End the program just before the command of this number from now on; at its next command if it is 1.

        One that has ended stays ended.
        """
        if not self._crashed:
            self.crash_before(at_command)
            if at_command == 1:
                self._end()

    def when_crashed(self, heard: Callable[[], None]) -> None:
        """``heard`` is called once, as the program ends: what works in its background ends with it."""
        self._hear.append(heard)

    def crash_before(self, command: int) -> None:
        """Crash the program once it comes to the command; the first one counts, too."""
        self._commands_left, self._instead = command - 1, None

    def call_before(self, command: int, action: Callable[[], None]) -> None:
        """The program does not end: ``action`` is called, once, just before the command of this number from now on."""
        self._commands_left, self._instead = command - 1, action

    def disarm(self) -> None:
        """A program that has not come to the command of its crash lives on."""
        self._commands_left = self._instead = None

    def check(self) -> None:
        if self._crashed:
            raise ProgramCrashed

    def count(self, commands: int) -> None:
        """Count ``commands`` that are about to be sent together."""
        if self._commands_left is not None and not self._crashed:
            self._commands_left -= commands
            reached = self._commands_left < 0
            if reached and self._instead is None:
                self._end()
            elif reached and self._instead is not None:
                action = self._instead
                self.disarm()
                action()
        if self._crashed:
            raise ProgramCrashed

    def _end(self) -> None:
        self._crashed = True
        for heard in self._hear:
            heard()

    @property
    def wrap(self) -> "ProgramWrapper":
        """The program hears what it is answered and ends where it would send the next command."""
        return ProgramWrapper(self._process, self.view, lambda way: CrashableConnection(way, self))

    @property
    def wrap_deaf(self) -> "ProgramWrapper":
        """The program does not hear the answer to a command that was on its way when it ended."""
        return ProgramWrapper(self._process, self.view, lambda way: DeafConnection(way, self))


@dataclass(frozen=True)
class ProgramWrapper:
    """Wrapper that gives a connection, a runtime and a clock to one program."""

    process: str
    view: ProgramView
    wrap: Callable[[Connection], Connection]

    def __call__(self, connection: Connection) -> Connection:
        return wrapped(connection, self.process, self.wrap)

    def runtime_of(self, runtime: Runtime) -> ProgramRuntime:
        return self.view.runtime_of(runtime)

    def clock_of(self, clock: Clock) -> ProgramClock:
        return self.view.clock_of(clock)


class CrashableConnection:
    """``Connection`` of a program that ``switch`` can end between any two commands."""

    def __init__(self, connection: Connection, switch: CrashSwitch) -> None:
        self._connection = connection
        self._switch = switch

    def execute(self, *commands: Command) -> Coroutine[Any, Any, list[Reply]]:
        self._switch.count(len(commands))
        return self._switch.view.execute(self._connection, commands, self._switch.check)


class DeafConnection:
    """A ``CrashableConnection`` whose answers are dropped once the program has ended."""

    def __init__(self, connection: Connection, switch: CrashSwitch) -> None:
        self._connection = connection
        self._switch = switch

    async def execute(self, *commands: Command) -> list[Reply]:
        self._switch.count(len(commands))
        try:
            return await self._switch.view.execute(self._connection, commands, self._switch.check)
        finally:
            self._switch.check()
