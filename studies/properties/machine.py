"""``QueueMachine``: a state machine drives programs that share a queue, in virtual time, and breaks what it may."""

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.zone import Persistence
from zonelab.engine.message import PRIORITY_MAX
from zonelab.engine.ports import Connection
from zonelab.engine.queue import ExtendableQueue, Queue, RepairableQueue
from zonelab.scenarios.faults.links import CutMode
from zonelab.scenarios.queues.under_test import Site, Wrap, site_of
from zonelab.studies.properties.budget import BudgetedMachine
from zonelab.studies.properties.faults import DEATHS, Trouble
from zonelab.studies.properties.interruptions import (
    MEANWHILE,
    Activity,
    Course,
    CrashBefore,
    NextStep,
    StallBefore,
    ToRest,
)
from zonelab.studies.properties.lab import DRAIN_BATCH, LabSettings, PropertyLab
from zonelab.studies.properties.strategies import lags
from zonelab.studies.properties.zone_contents import Holdings

SAFE = frozenset({Trouble.CRASH, Trouble.STALL, Trouble.LAG, Trouble.PAUSE, Trouble.HOLD})
"""Troubles that lose no write as long as they are shorter than the time-outs of the replication."""

EXTEND_COMMANDS = 2
"""An extension may be interrupted before any of so many commands, unless ``commands`` says otherwise."""


def _of_machine(choose: Any) -> st.SearchStrategy[Any]:
    """Return what ``choose`` makes of the machine that draws."""
    return st.runner().flatmap(choose)


def _course(operation: str) -> st.SearchStrategy[Course]:
    return _of_machine(lambda machine: machine._courses(operation))


_IDLE = _of_machine(lambda machine: st.sampled_from(machine._idle()))
_EXTENDABLE = _of_machine(lambda machine: st.sampled_from(machine._extendable()))
_HOLDING = _of_machine(lambda machine: st.sampled_from(machine._idle_holding()))
_LINKS = _of_machine(lambda machine: st.sampled_from(machine._link_sets()))


class QueueMachine(BudgetedMachine):
    """Hypothesis state machine that drives programs which share a queue, and judges what becomes of every message.

    Override ``make_queue``; the class attributes say what may happen (docs/properties.md has all of them).

    ``commands``: an operation may be interrupted before any of so many commands. ``stalls_ms``: how long a program may
    stand still in a pop, whose lease runs meanwhile; ``long_stalls_ms``: in any other operation. ``fault_ms``: lengths
    of pauses and cuts. ``leases``: False for a queue that delivers once, without acks. ``repairs_together``: several
    programs of a zone may look for ended leases at the same time. ``extends_any_time``: leases may be extended when
    they have ended and while other operations are under way, too, and extensions be interrupted. ``drain_ms``: how long
    a drain may take after the last message is due.

    Example, of a queue that hands a message out once and forgets it::

        from collections.abc import Sequence

        from hypothesis import settings

        class ListQueue:
            def __init__(self, site: Site) -> None:
                self.send, self.clock = site.connection.execute, site.clock

            async def push(self, messages: Sequence[Message]) -> list[Receipt]:
                await self.send(("RPUSH", "jobs", *(message.id for message in messages)))
                return [Receipt(id=message.id, shard="a", due_ms=self.clock.now_ms()) for message in messages]

            async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
                (taken,) = await self.send(("LPOP", "jobs"))
                now_ms = self.clock.now_ms()
                times = {"lease_start_ms": now_ms, "leased_ms": now_ms, "lease_end_ms": now_ms}
                return [Delivery(message=Message(id=taken.decode()), shard="a", **times)] if taken else []

            async def ack(self, delivery: Delivery) -> bool:
                return False

        class ListQueueMachine(QueueMachine):
            zones, leases, delays_ms, troubles = ("a",), False, (0,), frozenset()

            def make_queue(self, site: Site) -> ListQueue:
                return ListQueue(site)

        TestListQueue = ListQueueMachine.TestCase
        TestListQueue.settings = settings(TestListQueue.settings, max_examples=2, stateful_step_count=5)
    """

    zones: ClassVar[tuple[str, ...]] = ("a", "b", "c")
    persistence: ClassVar[Persistence] = Persistence.AOF_EVERYSEC
    notify_keyspace_events: ClassVar[str] = ""
    programs_per_zone: ClassVar[int] = 2
    lags: ClassVar[st.SearchStrategy[str]] = lags()
    troubles: ClassVar[frozenset[Trouble]] = SAFE
    lease_ms: ClassVar[int] = 30_000
    delays_ms: ClassVar[tuple[int, ...]] = (0, 1, 5_000)
    commands: ClassVar[Mapping[str, int]] = {"push": 2, "pop": 5, "ack": 4, "process_unacks": 8}
    stalls_ms: ClassVar[tuple[int, ...]] = (20, 1_000)
    long_stalls_ms: ClassVar[tuple[int, ...]] = (20, 1_000, 40_000)
    fault_ms: ClassVar[tuple[int, ...]] = (50, 2_000)
    early_tolerance_ms: ClassVar[int] = 1
    leases: ClassVar[bool] = True
    repairs_together: ClassVar[bool] = False
    extends_any_time: ClassVar[bool] = True
    drain_ms: ClassVar[int] = 200_000

    async def begin(self, testbed: Testbed) -> None:
        """Prepare the cluster; called before the first program begins. Does nothing by default.

        Args:
            testbed: the cluster, which has started.
        """

    async def end(self) -> None:
        """Clean up; called after the drain. Does nothing by default."""

    def program(self, testbed: Testbed, zone: str, wrap: Wrap) -> Queue:
        """Return the queue of a program.

        Args:
            testbed: the cluster.
            zone: that of the program.
            wrap: must wrap each connection of the program.
        """
        return self.make_queue(site_of(testbed, self.zones, zone, level=self.level, wrap=wrap))

    def make_queue(self, site: Site) -> Queue:
        """Return the queue instance of a program that begins.

        Args:
            site: its zone, connections, clock and runtime.
        """
        raise NotImplementedError(f"{type(self).__name__} must override make_queue")

    def home(self, shard: str) -> str | None:
        """Return the zone whose programs serve a shard; None if there is no such zone.

        Args:
            shard: its name.
        """
        return shard if shard in self.zones else None

    async def holdings(self, zone: str, direct: Connection) -> Holdings | None:
        """Return the messages that a server holds. None, the default: conservation is judged by the drain alone.

        Args:
            zone: that of the server.
            direct: a connection to it, past coordinators and links.
        """
        return None

    def __init__(self) -> None:
        super().__init__()
        self._unwinding = sys.exc_info()[1]
        self.lab: PropertyLab | None = None
        self.rests_checked = 0
        """Comparisons of the zones' contents with what was pushed: 0 says that nothing was tried."""

    @initialize(
        seed=st.integers(0, 2**32 - 1),
        lag=_of_machine(lambda machine: machine.lags),
        delays_ms=_of_machine(lambda machine: st.lists(st.sampled_from(machine.delays_ms), max_size=3)),
    )
    def start(self, seed: int, lag: str, delays_ms: list[int]) -> None:
        """Begin with messages of these delays in the queue."""
        self.lab = PropertyLab(
            self,
            LabSettings(
                zones=self.zones,
                level=self.level,
                persistence=self.persistence,
                events=EventFlags.read(self.notify_keyspace_events),
                programs_per_zone=self.programs_per_zone,
                early_tolerance_ms=self.early_tolerance_ms,
                leases=self.leases,
                lag=lag,
                seed=seed,
            ),
        )
        for program, delay_ms in zip(self.lab.programs, delays_ms, strict=False):
            self.lab.push(program, ToRest(), delay_ms=delay_ms, priority=0)

    def teardown(self) -> None:
        """Heal and drain; every message must have been delivered and acknowledged."""
        if self.lab is None:
            return
        if sys.exc_info()[1] is not self._unwinding:
            self.lab.abandon()  # a failure is on its way out, and must not be hidden by another
            return
        self.lab.drain(bound_ms=self.drain_ms + max(self.delays_ms), look_ms=self.lease_ms // 2)
        self.lab.do(self.end())
        self.lab.close()

    @invariant()
    def nothing_is_lost_at_rest(self) -> None:
        if self.lab is not None:
            self.rests_checked += self.lab.check_conservation()

    @precondition(lambda self: self._idle())
    @rule(
        program=_IDLE,
        delay_ms=_of_machine(lambda machine: st.sampled_from(machine.delays_ms)),
        priority=st.sampled_from([0, 1, PRIORITY_MAX]),
        course=_course("push"),
    )
    def push(self, program: str, delay_ms: int, priority: int, course: Course) -> None:
        self._lab.push(program, course, delay_ms=delay_ms, priority=priority)
        self._meanwhile(program, course)

    @precondition(lambda self: self._idle())
    @rule(
        program=_of_machine(lambda machine: st.sampled_from(machine._idle_near_due() or machine._idle())),
        count=st.integers(1, 3),
        wait_ms=st.sampled_from([0, 0, 100]),
        course=_course("pop"),
    )
    def pop(self, program: str, count: int, wait_ms: int, course: Course) -> None:
        self._lab.pop(program, course, count=count, wait_ms=wait_ms)
        self._meanwhile(program, course)

    @precondition(lambda self: self._idle_holding())
    @rule(program=_HOLDING, which=st.integers(0, 9), course=_course("ack"))
    def ack(self, program: str, which: int, course: Course) -> None:
        self._lab.ack(program, course, index=which % len(self._lab.programs[program].held))
        self._meanwhile(program, course)

    @precondition(lambda self: self._extendable())
    @rule(program=_EXTENDABLE, which=st.integers(0, 9), leases=st.sampled_from([1, 2]), course=_course("extend"))
    def extend(self, program: str, which: int, leases: int, course: Course) -> None:
        """While most of the lease is left, or at any time."""
        index = which % len(self._lab.programs[program].held)
        left_ms = self._lab.held_until_ms(program, index) - self._lab.now_ms
        if left_ms > self.lease_ms // 2 or self.extends_any_time:
            self._lab.extend(program, course, index=index, timeout_ms=leases * self.lease_ms)
            self._meanwhile(program, course)

    @precondition(lambda self: self.extends_any_time and self._extendable())
    @rule(program=_EXTENDABLE, which=st.integers(0, 9), others=st.sampled_from(MEANWHILE), course=_course("extend"))
    def extend_what_has_ended(self, program: str, which: int, others: tuple[Activity, ...], course: Course) -> None:
        """Once the lease is over, and a program of each zone has done what ``others`` says."""
        index = which % len(self._lab.programs[program].held)
        self._lab.advance(max(0, self._lab.held_until_ms(program, index) + 1 - self._lab.now_ms))
        for doing in others:
            self._all_do(doing)
        if program in self._extendable():
            self.extend(program, which=index, leases=1, course=course)

    @precondition(lambda self: self._free_to_repair())
    @rule(
        program=_of_machine(lambda machine: st.sampled_from(machine._free_to_repair())),
        course=_course("process_unacks"),
    )
    def process_unacks(self, program: str, course: Course) -> None:
        self._lab.process_unacks(program, course)
        self._meanwhile(program, course)

    @precondition(lambda self: self._near_lease_end())
    @rule(
        program=_of_machine(lambda machine: st.sampled_from(sorted(machine._near_lease_end()))),
        course=_course("process_unacks"),
    )
    def a_lease_ends(self, program: str, course: Course) -> None:
        """And a program of the zone looks for ended leases, if it is free by then."""
        self._lab.advance(max(0, self._near_lease_end()[program] - self._lab.now_ms))
        if program in self._free_to_repair():
            self.process_unacks(program, course)

    @rule(duration_ms=_of_machine(lambda machine: st.sampled_from(machine._durations_ms())))
    def time_passes(self, duration_ms: int) -> None:
        self._lab.advance(duration_ms)

    @precondition(lambda self: self.lab is not None and not self.lab.quiet)
    @rule()
    def all_comes_to_rest(self) -> None:
        self._lab.rest()

    @precondition(lambda self: self._may(Trouble.CRASH))
    @rule(program=_of_machine(lambda machine: st.sampled_from(sorted(machine.lab.programs))))
    def crash(self, program: str) -> None:
        self._lab.crash(program)

    @precondition(lambda self: self._may(Trouble.PAUSE) and self.lab.troubles.free_zones())
    @rule(
        zone=_of_machine(lambda machine: st.sampled_from(machine.lab.troubles.free_zones())),
        for_ms=_of_machine(lambda machine: st.sampled_from(machine.fault_ms)),
    )
    def pause(self, zone: str, for_ms: int) -> None:
        self._lab.disturb(self._lab.troubles.pause(zone, for_ms=for_ms))

    @precondition(lambda self: self._kills() and self.lab.troubles.free_zones())
    @rule(
        zone=_of_machine(lambda machine: st.sampled_from(machine.lab.troubles.free_zones())),
        kind=_of_machine(lambda machine: st.sampled_from(machine._kills())),
    )
    def kill(self, zone: str, kind: Trouble) -> None:
        self._lab.disturb(self._lab.troubles.kill(zone, kind))

    @precondition(lambda self: self.lab is not None and self.lab.troubles.dead_zones())
    @rule(zone=_of_machine(lambda machine: st.sampled_from(machine.lab.troubles.dead_zones())))
    def restart(self, zone: str) -> None:
        self._lab.disturb(self._lab.troubles.revive(zone))

    @precondition(lambda self: self._cuts() and self._link_sets())
    @rule(
        links=_LINKS,
        mode=_of_machine(lambda machine: st.sampled_from(machine._cuts())),
        for_ms=_of_machine(lambda machine: st.sampled_from(machine.fault_ms)),
    )
    def cut(self, links: tuple[tuple[str, str], ...], mode: CutMode, for_ms: int) -> None:
        self._lab.disturb(self._lab.troubles.cut(links, mode, for_ms=for_ms))

    @precondition(lambda self: self._may(Trouble.COORDINATOR_CRASH) and self.lab.troubles.free_coordinators())
    @rule(
        zone=_of_machine(lambda machine: st.sampled_from(machine.lab.troubles.free_coordinators())),
        for_ms=_of_machine(lambda machine: st.sampled_from(machine.fault_ms)),
    )
    def coordinator_crash(self, zone: str, for_ms: int) -> None:
        self._lab.disturb(self._lab.troubles.crash_coordinator(zone, for_ms=for_ms))

    @precondition(lambda self: self._may(Trouble.LAG) and self._link_sets())
    @rule(links=_LINKS, lag=_of_machine(lambda machine: machine.lags))
    def lag_changes(self, links: tuple[tuple[str, str], ...], lag: str) -> None:
        self._lab.ledger.disturb()
        self._lab.troubles.slow(links, parse_lag(lag))

    @precondition(lambda self: self.lab is not None and len(self.lab.troubles) > 0)
    @rule()
    def heal(self) -> None:
        self._lab.disturb(self._lab.troubles.heal())

    def _meanwhile(self, program: str, course: Course) -> None:
        if isinstance(course, StallBefore) and self._lab.programs[program].gate.standing:
            for doing in course.meanwhile:
                self._all_do(doing)

    def _all_do(self, doing: Activity) -> None:
        """One program of each zone that is free to do it."""
        if doing is Activity.WAIT:
            self._lab.advance(self.lease_ms + 1)
            return
        for zone in self.zones:
            free = self._idle() if doing is Activity.POP else self._free_to_repair()
            for name in [name for name in free if self._lab.programs[name].zone == zone][:1]:
                if doing is Activity.POP:
                    self._lab.pop(name, ToRest(), count=DRAIN_BATCH)
                else:
                    self._lab.process_unacks(name, ToRest())

    @property
    def _lab(self) -> PropertyLab:
        assert self.lab is not None, "start is the first step of every machine"
        return self.lab

    def _may(self, trouble: Trouble) -> bool:
        """Return whether the drawn course may have ``trouble``."""
        return self.lab is not None and trouble in self.troubles

    def _idle(self) -> list[str]:
        """Programs that are in no operation."""
        return [] if self.lab is None else [name for name, program in self.lab.programs.items() if not program.busy]

    def _idle_near_due(self) -> list[str]:
        """Idle programs in zones that serve a message which is due and not known to be leased."""
        now_ms = self._lab.now_ms
        due = [fate for fate in self._lab.ledger.owed if fate.due_ms <= now_ms and fate.lease_end_ms <= now_ms]
        zones = [self.home(fate.shard) for fate in due if fate.shard is not None]
        return [name for name in self._idle() if self._lab.programs[name].zone in zones]

    def _idle_holding(self) -> list[str]:
        return [name for name in self._idle() if self._lab.programs[name].held]

    def _extendable(self) -> list[str]:
        """Idle programs that hold a delivery and may extend its lease now."""
        if self.lab is None or not (self.extends_any_time or self.lab.quiet):
            return []
        return [name for name in self._idle_holding() if isinstance(self._lab.programs[name].queue, ExtendableQueue)]

    def _free_to_repair(self) -> list[str]:
        """Idle programs that may look for ended leases now."""
        if self.lab is None:
            return []
        taken = [each.zone for each in self.lab.programs.values() if each.repairing and not self.repairs_together]
        programs = ((name, self.lab.programs[name]) for name in self._idle())
        return [name for name, each in programs if isinstance(each.queue, RepairableQueue) and each.zone not in taken]

    def _near_lease_end(self) -> dict[str, int]:
        """When the first lease ends in the zone of each program that may look for ended leases."""
        ends: dict[str, int] = {}
        free = self._free_to_repair()
        for fate in self._lab.ledger.owed if free else ():
            zone = self.home(fate.shard) if fate.shard is not None and fate.leases else None
            for name in free if zone is not None else ():
                if self._lab.programs[name].zone == zone:
                    ends[name] = min(fate.lease_end_ms, ends.get(name, fate.lease_end_ms))
        return ends

    def _kills(self) -> list[Trouble]:
        return [trouble for trouble in DEATHS if self._may(trouble)]

    def _cuts(self) -> list[CutMode]:
        modes = {Trouble.HOLD: CutMode.HOLD, Trouble.DROP: CutMode.DROP}
        return [mode for trouble, mode in modes.items() if self._may(trouble)]

    def _link_sets(self) -> list[tuple[tuple[str, str], ...]]:
        """Single links, and all links from and to a zone, of which none is cut."""
        if self.lab is None:
            return []
        free = self.lab.troubles.free_links()
        around = [tuple(pair for pair in self.lab.cluster.links if zone in pair) for zone in self.zones]
        return [*((pair,) for pair in free), *(links for links in around if links and set(links) <= set(free))]

    def _durations_ms(self) -> list[int]:
        return [1, 50, 1_000, self.lease_ms // 2, self.lease_ms + 1_000]

    def _courses(self, operation: str) -> st.SearchStrategy[Course]:
        """Return what may become of an operation that begins."""
        if operation == "extend" and not self.extends_any_time:
            return st.just(ToRest())
        stalls_ms = self.stalls_ms if operation == "pop" else self.long_stalls_ms
        options: list[st.SearchStrategy[Course]] = [
            st.just(ToRest()),
            st.builds(NextStep, st.sampled_from([0, 1, 20])),
        ]
        commands = st.integers(1, self.commands.get(operation, EXTEND_COMMANDS))
        if Trouble.STALL in self.troubles:
            lengths_ms, meanwhile = st.sampled_from(stalls_ms), st.sampled_from(MEANWHILE)
            options.append(st.builds(StallBefore, commands, lengths_ms, meanwhile))
        if Trouble.CRASH in self.troubles:
            options.append(st.builds(CrashBefore, commands))
        return st.one_of(options)
