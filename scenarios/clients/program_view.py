"""Effects of faults on a living program: it stands still, its clock is wrong, commands are late, answers changed.

A program that stands still is one with SIGSTOP: what it asked for happens, and it does not notice. Its sleeps and
timers end, and its answers arrive, when it goes on.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from zonelab.cluster.clock import NodeClock
from zonelab.engine.ports import Clock, Command, Connection, PortError, Promise, Reply, Runtime, Task, Timer
from zonelab.engine.units import NS_PER_MS

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class CommandAlteration:
    """``concerns``: which commands. They are sent ``late_ms`` late, and ``heard`` changes their answers."""

    concerns: Callable[[Command], bool]
    late_ms: int
    heard: Callable[[Reply], Reply] | None


@dataclass(eq=False)
class ProgramView:
    """A program's view of the cluster and its clock. ``own_clock`` is what its clock is ahead of its zone's, once a
    fault has given it one. ``work_factor``: its work on a message takes so many times as long.
    """

    own_clock: NodeClock | None = None
    work_factor: float = 1.0
    altered: list[CommandAlteration] = field(default_factory=list)
    _resumed: Promise[None] | None = None
    _runtime: Runtime | None = None
    _commands_left: int | None = None
    _after_effect: bool = False
    _late: list["_Timer"] = field(default_factory=list)

    def pause(self, runtime: Runtime, *, at_command: int | None, after_effect: bool) -> None:
        """Stand still now, or at the command of this number from now on: before it is sent, or when it is answered."""
        self._runtime, self._after_effect = runtime, after_effect
        if at_command is None:
            self._stand_still()
        else:
            self._commands_left = at_command

    def go_on(self) -> None:
        """One that has not come to the command of its pause is spared."""
        self._commands_left = None
        resumed, self._resumed = self._resumed, None
        late, self._late = self._late, []
        for timer in late:
            timer.fire()
        if resumed is not None:
            resumed.set_result(None)

    @property
    def stands_still(self) -> bool:
        return self._resumed is not None

    async def passed(self) -> None:
        """Wait until the program goes on, if it stands still."""
        while self._resumed is not None:
            await self._resumed

    async def execute(
        self, connection: Connection, commands: tuple[Command, ...], check: Callable[[], None]
    ) -> list[Reply]:
        """``check`` raises if the program has ended while it stood still."""
        reached = self._commands_left is not None and self._pause_reached(self._commands_left - len(commands))
        if reached and not self._after_effect:
            self._stand_still()
        if self._resumed is not None or self.altered:
            await self._wait_to_send(commands, check)
        failure: PortError | None = None
        replies: list[Reply] = []
        try:
            replies = await connection.execute(*commands)
        except PortError as error:
            failure = error
        if reached and self._after_effect:
            self._stand_still()
        if self._resumed is not None:
            await self.passed()
            check()
        if failure is not None:
            raise failure
        return self._heard(commands, replies) if self.altered else replies

    async def _wait_to_send(self, commands: tuple[Command, ...], check: Callable[[], None]) -> None:
        if self._resumed is not None:
            await self.passed()
            check()
        late_ms = max((each.late_ms for each in self.altered if any(map(each.concerns, commands))), default=0)
        if late_ms and self._runtime is not None:
            await self._runtime.sleep(late_ms * NS_PER_MS)

    def alter(
        self,
        runtime: Runtime,
        *,
        concerns: Callable[[Command], bool],
        late_ms: int = 0,
        heard: Callable[[Reply], Reply] | None = None,
    ) -> object:
        """Until ``mend`` of what this returns."""
        self._runtime = runtime
        altered = CommandAlteration(concerns, late_ms, heard)
        self.altered.append(altered)
        return altered

    def mend(self, altered: object) -> None:
        self.altered = [each for each in self.altered if each is not altered]

    def runtime_of(self, runtime: Runtime) -> "ProgramRuntime":
        return ProgramRuntime(runtime, self)

    def clock_of(self, clock: Clock) -> "ProgramClock":
        return ProgramClock(clock, self)

    def _stand_still(self) -> None:
        if self._resumed is None and self._runtime is not None:
            self._resumed = self._runtime.promise()

    def _pause_reached(self, left: int) -> bool:
        """Note that ``left`` commands are left until the pause; return whether this was the one of the pause."""
        self._commands_left = left if left > 0 else None
        return left <= 0

    def _heard(self, commands: tuple[Command, ...], replies: list[Reply]) -> list[Reply]:
        for each in self.altered:
            if each.heard is not None:
                replies = [
                    each.heard(reply) if each.concerns(command) else reply
                    for command, reply in zip(commands, replies, strict=True)
                ]
        return replies


@dataclass(eq=False)
class _Timer:
    view: ProgramView
    callback: Callable[[], None]
    inner: Timer | None = None
    cancelled: bool = False

    def fire(self) -> None:
        if self.cancelled:
            return
        if self.view.stands_still:
            self.view._late.append(self)
        else:
            self.callback()

    def cancel(self) -> None:
        self.cancelled = True
        if self.inner is not None:
            self.inner.cancel()


class ProgramRuntime:
    """``Runtime`` of a program: while it stands still nothing wakes it."""

    def __init__(self, inner: Runtime, view: ProgramView) -> None:
        self._inner, self._view = inner, view

    def now_ns(self) -> int:
        return self._inner.now_ns()

    async def sleep(self, duration_ns: int) -> None:
        await self._inner.sleep(duration_ns)
        if self._view.stands_still:
            await self._view.passed()

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        timer = _Timer(self._view, callback)
        timer.inner = self._inner.call_later(delay_ns, timer.fire)
        return timer

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> Task[T]:
        return self._inner.spawn(coroutine, name=name)

    def promise(self) -> Promise[Any]:
        return self._inner.promise()

    def random(self, user: str) -> Random:
        return self._inner.random(user)


class ProgramClock:
    """``Clock`` of a program: its zone's, unless a fault has set its own."""

    def __init__(self, zone: Clock, view: ProgramView) -> None:
        self._zone, self._view = zone, view

    def now_ms(self) -> int:
        own = self._view.own_clock
        return self._zone.now_ms() + (0 if own is None else round(own.offset_ns / NS_PER_MS))
