"""A program: one queue instance, whose every command passes a gate at which the program can die or stand still."""

from collections.abc import Sequence

from zonelab.engine.message import Delivery
from zonelab.engine.ports import Command, Connection, Promise, Reply, Runtime, Task
from zonelab.engine.queue import Queue
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.clients.program_crash import CrashSwitch
from zonelab.studies.properties.interruptions import Course, CrashBefore, StallBefore


class Gate(CrashSwitch):
    """A crash switch for one operation after another, at which the program can stand still as well.

    A pipeline is not torn apart: it is stopped as a whole.
    """

    def __init__(self, runtime: Runtime, process: str) -> None:
        super().__init__(process)
        self._runtime = runtime
        self._stall: StallBefore | None = None
        self._passed = 0
        self._standing: Promise[None] | None = None
        self.stopped: Promise[None] = runtime.promise()
        """The operation stands still, or is over."""

    @property
    def standing(self) -> bool:
        return self._standing is not None

    def arm(self, course: Course) -> None:
        """A new operation begins."""
        self.disarm()
        if isinstance(course, CrashBefore):
            self.crash_before(course.command)
        self._stall = course if isinstance(course, StallBefore) else None
        self._passed = 0
        self.stopped = self._runtime.promise()

    def stop(self) -> None:
        if not self.stopped.done():
            self.stopped.set_result(None)

    def crash(self, *, at_command: int = 1) -> None:
        super().crash(at_command=at_command)
        if self._standing is not None:
            self._go_on()

    async def enter(self, commands: int) -> None:
        """Pass ``commands`` commands. Raises ``ProgramCrashed`` if the program has died before them."""
        stall, self._passed = self._stall, self._passed + commands
        if stall is not None and self._passed >= stall.command and not self.crashed:
            self._stall = None
            await self._stand(stall.for_ms)
        self.count(commands)

    def around(self, connection: Connection) -> Connection:
        return GatedConnection(connection, self)

    async def _stand(self, for_ms: int) -> None:
        self._standing = self._runtime.promise()
        timer = self._runtime.call_later(for_ms * NS_PER_MS, self._go_on)
        self.stop()
        await self._standing
        timer.cancel()

    def _go_on(self) -> None:
        standing, self._standing = self._standing, None
        if standing is not None:
            standing.set_result(None)


class GatedConnection:
    """``Connection`` through a gate."""

    def __init__(self, inner: Connection, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    async def execute(self, *commands: Command) -> list[Reply]:
        await self._gate.enter(len(commands))
        return await self._inner.execute(*commands)


class GatedProgram:
    """``held``: deliveries that it has not tried to acknowledge, each with the number of its pop.

    ``popped``: how many its last pop returned. ``repairing``: it looks for ended leases just now.
    """

    def __init__(self, *, name: str, zone: str, gate: Gate, queue: Queue) -> None:
        self.name = name
        self.zone = zone
        self.gate = gate
        self.queue = queue
        self.held: list[tuple[int, Delivery]] = []
        self.task: Task[None] | None = None
        self.popped = 0
        self.repairing = False

    @property
    def busy(self) -> bool:
        return self.task is not None and not self.task.done()

    def latest(self, index: int) -> int:
        """The index of the last of its deliveries of the same message as that of ``index``."""
        message_id = self.held[index][1].message.id
        return max(at for at, (_, delivery) in enumerate(self.held) if delivery.message.id == message_id)

    def hold(self, number: int, deliveries: Sequence[Delivery]) -> None:
        self.held += [(number, delivery) for delivery in deliveries]
        self.popped = len(deliveries)
