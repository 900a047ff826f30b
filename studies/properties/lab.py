"""A simulated cluster with programs on it that a state machine moves step by step."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Persistence, ZoneState
from zonelab.engine.message import Message
from zonelab.engine.ports import Connection
from zonelab.engine.queue import Queue, RepairableQueue
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.clients.program_crash import ProgramCrashed
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.studies.properties.faults import Troubles
from zonelab.studies.properties.gated_program import Gate, GatedProgram
from zonelab.studies.properties.interruptions import Course, NextStep, ToRest
from zonelab.studies.properties.ledger import Ledger
from zonelab.studies.properties.operations import Operations
from zonelab.studies.properties.shutdown import abandon, close
from zonelab.studies.properties.zone_contents import Holdings, violations

_POLL_NS = NS_PER_MS
_POLL_NS_MAX = 256 * NS_PER_MS

REST_MS_MAX = 15_000
"""Longest wait for empty links and connected coordinators: above the longest reconnection, which is 10 s."""

OPERATION_MS_MAX = 600_000
"""No operation takes longer: each of its commands ends with a time-out of at most 25.2 s."""

DRAIN_BATCH = 100

Operation = Callable[[], Awaitable[None]]


class Subject(Protocol):
    """The queue under test."""

    async def begin(self, testbed: Testbed) -> None: ...
    def program(self, testbed: Testbed, zone: str, wrap: Wrap) -> Queue: ...
    def home(self, shard: str) -> str | None: ...
    async def holdings(self, zone: str, direct: Connection) -> Holdings | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class LabSettings:
    """``lag``: of every link, as in scenario files."""

    zones: tuple[str, ...]
    level: Level
    persistence: Persistence
    events: EventFlags
    programs_per_zone: int
    early_tolerance_ms: int
    leases: bool
    lag: str
    seed: int


class PropertyLab:
    """Programs ``a0``, ``a1``, ``b0`` and so on. A program that has died is replaced by a new one of the same name.

    Its methods are called from outside of the simulation, and let time pass inside.
    """

    def __init__(self, subject: Subject, settings: LabSettings) -> None:
        self.settings = settings
        self._subject = subject
        server = ServerSettings(persistence=settings.persistence, events=settings.events)
        self.cluster = SimCluster(
            settings.zones, SimSettings(seed=settings.seed, lag=parse_lag(settings.lag), server=server)
        )
        self.runtime = self.cluster.runtime
        self.troubles = Troubles(self.cluster)
        self.ledger = Ledger(early_tolerance_ms=settings.early_tolerance_ms, leases=settings.leases)
        self._operations = Operations(ledger=self.ledger, runtime=self.runtime, now_ms=lambda: self.now_ms)
        self._messages = 0
        self.do(self.cluster.start())
        self.do(subject.begin(self.cluster))
        self.programs: dict[str, GatedProgram] = {}
        for zone in settings.zones:
            for number in range(settings.programs_per_zone):
                self._begin(f"{zone}{number}", zone)

    @property
    def now_ms(self) -> int:
        """True wall-clock time."""
        return (self.cluster.epoch_ns + self.runtime.now_ns()) // NS_PER_MS

    @property
    def busy(self) -> bool:
        return any(program.busy for program in self.programs.values())

    @property
    def quiet(self) -> bool:
        """No operation, no fault, nothing on the way, everything connected."""
        return not (self.busy or self.troubles or self._moving) and self._whole

    @property
    def _whole(self) -> bool:
        cluster = self.cluster
        running = all(zone.state is ZoneState.RUNNING for zone in cluster.zones.values())
        return running and all(coordinator.connected for coordinator in cluster.coordinators.values())

    @property
    def _moving(self) -> bool:
        return any(link.in_flight for link in self.cluster.links.values())

    def do(self, action: Awaitable[None]) -> None:
        """Let time pass until ``action`` has ended."""

        async def program() -> None:
            await action

        self.runtime.run_until_complete(program())

    def disturb(self, action: Awaitable[None]) -> None:
        """Do what puts the queue into trouble."""
        self.ledger.disturb()
        self.do(action)

    def close(self) -> None:
        close(self.cluster)

    def abandon(self) -> None:
        """Close after a failure."""
        self.troubles.forget()
        abandon(self.cluster)

    def advance(self, duration_ms: int) -> None:
        self.runtime.run(for_ns=duration_ms * NS_PER_MS)

    def push(self, name: str, course: Course, *, delay_ms: int, priority: int) -> None:
        message = Message(id=f"m{self._messages}", payload="p", timeout_ms=delay_ms, priority=priority)
        self._messages += 1
        program = self.programs[name]
        self._start(program, course, partial(self._operations.push, program, message), name=f"push {message.id}")

    def pop(self, name: str, course: Course, *, count: int, wait_ms: int = 0) -> None:
        program = self.programs[name]
        self._start(program, course, partial(self._operations.pop, program, count, wait_ms), name=f"pop {name}")

    def ack(self, name: str, course: Course, *, index: int) -> None:
        """Acknowledge the delivery of this index among those that the program holds; it lets go of it."""
        program = self.programs[name]
        number, delivery = program.held.pop(index)
        operation = partial(self._operations.ack, program, delivery, number)
        self._start(program, course, operation, name=f"ack {delivery.message.id}")

    def extend(self, name: str, course: Course, *, index: int, timeout_ms: int) -> None:
        """Program ``name`` begins to extend the lease of delivery ``index``, going as far as ``course`` says.

        Of several deliveries of the same message that it holds, the last one.
        """
        program = self.programs[name]
        number, delivery = program.held[program.latest(index)]
        operation = partial(self._operations.extend, program, delivery, number, timeout_ms)
        self._start(program, course, operation, name=f"extend {delivery.message.id}")

    def held_until_ms(self, name: str, index: int) -> int:
        """Return the end (ms) of the lease of delivery number ``index`` among those that program ``name`` holds."""
        number, delivery = self.programs[name].held[index]
        return self.ledger.held_until_ms(delivery.message.id, number)

    def process_unacks(self, name: str, course: Course) -> None:
        program = self.programs[name]
        self._start(program, course, partial(self._operations.process_unacks, program), name=f"process_unacks {name}")

    def crash(self, name: str) -> None:
        """The program dies now."""
        self.ledger.disturb()
        program = self.programs[name]
        program.gate.crash()
        if not program.busy:
            self._begin(name, program.zone)

    def rest(self) -> None:
        """Let every operation end and every link become empty, if no fault stands against it."""
        self.do(self._wait(lambda: not self.busy, OPERATION_MS_MAX))
        self._settle()

    def check_conservation(self) -> bool:
        """Look at every zone, if all is at rest. False if it is not, or if the queue cannot list what it holds."""
        return self.quiet and self.runtime.run_until_complete(self._check())

    def drain(self, *, bound_ms: int, look_ms: int) -> None:
        """Heal all, then deliver and acknowledge all that is owed, looking for ended leases every ``look_ms``.

        Raises ``Violation`` if it takes more than ``bound_ms``.
        """
        self.do(self.troubles.heal())
        self.rest()
        deadline_ms = self.now_ms + bound_ms
        while True:
            for zone in self.settings.zones:
                self._serve(f"{zone}0", deadline_ms)
            if not self.ledger.owed:
                break
            if self.now_ms > deadline_ms:
                self.do(self._not_drained(bound_ms))
            self.advance(look_ms)
        self.rest()
        self.check_conservation()

    def _serve(self, name: str, deadline_ms: int) -> None:
        """Drain as a consumer does: look for ended leases, then pop and acknowledge until nothing comes."""
        if isinstance(self.programs[name].queue, RepairableQueue):
            self.process_unacks(name, ToRest())
        while self.now_ms <= deadline_ms:
            self.pop(name, ToRest(), count=DRAIN_BATCH)
            while self.programs[name].held:
                self.ack(name, ToRest(), index=0)
            if self.programs[name].popped == 0:
                return

    async def _not_drained(self, bound_ms: int) -> None:
        fate = self.ledger.owed[0]
        held = await self._holdings() or {}
        if held:
            for kind, detail in violations(fate, held, home=self._home(fate.shard)):
                raise self.ledger.violation(kind, fate, detail)
        states = "; ".join(f"{zone}: {content.state(fate.message.id)}" for zone, content in held.items())
        detail = f"not delivered and acknowledged within {bound_ms} ms after all was healed ({states or 'not read'})"
        raise self.ledger.violation(MessageClass.STUCK, fate, detail)

    async def _check(self) -> bool:
        held = await self._holdings()
        if held is None:
            return False
        for fate in self.ledger.fates.values():
            for kind, detail in violations(fate, held, home=self._home(fate.shard)):
                raise self.ledger.violation(kind, fate, detail)
        return True

    async def _holdings(self) -> dict[str, Holdings] | None:
        found = {}
        for zone in self.settings.zones:
            held = await self._subject.holdings(zone, self.cluster.direct(zone))
            if held is None:
                return None
            found[zone] = held
        return found

    def _home(self, shard: str | None) -> str | None:
        return None if shard is None else self._subject.home(shard)

    def _begin(self, name: str, zone: str) -> None:
        gate = Gate(self.runtime, name)
        queue = self._subject.program(self.cluster, zone, gate.around)
        self.programs[name] = GatedProgram(name=name, zone=zone, gate=gate, queue=queue)

    def _start(self, program: GatedProgram, course: Course, operation: Operation, *, name: str) -> None:
        if not self.quiet:
            self.ledger.disturb()
        program.gate.arm(course)
        program.task = self.runtime.spawn(self._live(program, operation), name=name)
        if isinstance(course, NextStep):
            self.advance(course.after_ms)
            return
        self.do(program.gate.stopped)
        if isinstance(course, ToRest):
            self._settle()

    def _settle(self) -> None:
        self.do(self._wait(lambda: self._whole and not self._moving, REST_MS_MAX))

    async def _wait(self, condition: Callable[[], bool], bound_ms: int) -> None:
        deadline_ns = self.runtime.now_ns() + bound_ms * NS_PER_MS
        pause_ns = _POLL_NS
        while not condition() and self.runtime.now_ns() < deadline_ns:
            await self.runtime.sleep(pause_ns)
            pause_ns = min(2 * pause_ns, _POLL_NS_MAX)

    async def _live(self, program: GatedProgram, operation: Operation) -> None:
        """One operation of a program, and its death if that comes."""
        try:
            await operation()
            if program.gate.crashed:
                raise ProgramCrashed
        except ProgramCrashed:
            self.ledger.disturb()
            self._begin(program.name, program.zone)
        finally:
            program.task = None
            program.gate.stop()
