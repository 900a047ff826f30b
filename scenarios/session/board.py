"""The faults that are in force on a cluster, and the verbs that begin and end them.

Faults of links may lie over each other: how a link is to be follows from all of them, the later ones before the
earlier ones, and the coordinators are told the result. A server, and a coordinator, has one fault at most.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cluster.admin.links import LinkState
from cluster.real.zones.base import RealZone
from cluster.real.zones.zone_set import ZoneSet
from cluster.zone import ClusterError, Restart, ZoneError, ZoneState
from scenarios.faults import COLOURS
from scenarios.session.coordinators import CoordinatorProcess
from scenarios.session.recording import Recording
from scenarios.session.requests import FaultKind, FaultRequest, NotAccepted, known_zone, links_of

LOGGER = logging.getLogger("zonelab.session")

SLOW_PERIOD_S = 0.1
"""As the kernel's own quota of processor time has it (CFS bandwidth control)."""

_COLOUR_OF = {
    FaultKind.HOLD: "clog",
    FaultKind.COORDINATOR_KILL: "coordinator_crash",
    FaultKind.COORDINATOR_PAUSE: "coordinator_crash",
}


class Conflict(NotAccepted):
    """It could be done if something else were not in force."""


@dataclass
class Fault:
    """A fault in force. ``links``: those that it is on."""

    number: int
    request: FaultRequest
    begin_ns: int
    links: tuple[str, ...] = ()
    timer: asyncio.Task[None] | None = None
    slowing: asyncio.Task[None] | None = None
    row: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.number}:{self.request.label}"

    def told(self, now_ns: int) -> dict[str, Any]:
        since_s = (now_ns - self.begin_ns) / 1e9
        for_s = self.request.for_s
        return {
            "number": self.number,
            "fault": self.name,
            "kind": self.request.kind.value,
            "target": self.request.target,
            "since_s": round(since_s, 3),
            "ends_in_s": None if for_s is None else round(for_s - since_s, 3),
        }


class Board:
    """All verbs wait for each other, so what a verb finds is what it leaves but for its own change."""

    def __init__(self, *, zones: ZoneSet, coordinators: Mapping[str, CoordinatorProcess], recording: Recording) -> None:
        self._zones = zones
        self._coordinators = coordinators
        self._recording = recording
        self._faults: dict[int, Fault] = {}
        self._next_number = 1
        self._verbs = asyncio.Lock()

    @property
    def active(self) -> list[dict[str, Any]]:
        now_ns = self._recording.now_ns()
        return [fault.told(now_ns) for fault in self._faults.values()]

    def fault_on(self, zone: str) -> Fault | None:
        """The fault of the server of ``zone``."""
        return self._holding(zone, of_coordinator=False)

    async def begin(self, request: FaultRequest) -> dict[str, Any]:
        """Raises ``NotAccepted`` if nothing was changed, another ``ClusterError`` if it went wrong on the way."""
        async with self._verbs:
            self._check(request)
            fault = Fault(self._next_number, request, self._recording.now_ns())
            if request.kind.of_links:
                fault.links = links_of(request.target, self._zones.names)
            self._next_number += 1
            self._faults[fault.number] = fault
            self._record(fault)
            await self._enforce(fault)
            if request.for_s is not None:
                fault.timer = asyncio.create_task(self._end_after(fault, request.for_s))
            return fault.told(self._recording.now_ns())

    async def end(self, number: int) -> list[str]:
        """Raises ``NotAccepted`` if no such fault is in force."""
        async with self._verbs:
            fault = self._faults.get(number)
            if fault is None:
                there = ", ".join(one.name for one in self._faults.values()) or "none"
                raise NotAccepted(f"fault {number} is not in force; in force: {there}")
            await self._end(fault)
            return [fault.name]

    async def heal(self) -> list[str]:
        """End everything and start whatever has died; says what was done, nothing if all was well.

        What cannot be healed does not keep the rest from it; its ``ClusterError`` is raised at the end.
        """
        async with self._verbs:
            done: list[str] = []
            errors: list[ClusterError] = []
            for work in self._healing():
                try:
                    if said := await work():
                        done.append(said)
                except ClusterError as error:
                    errors.append(error)
            if errors:
                raise ClusterError("; ".join((*map(str, errors), *done)))
            await self._push()
            return done

    async def restart(self, name: str, mode: Restart) -> list[str]:
        """A server as after a crash; ends whatever fault it is under."""
        known_zone(name, self._zones.names)
        async with self._verbs:
            zone, fault = self._zones[name], self.fault_on(name)
            if mode is Restart.WARM:
                self._warm_source(name)
            if fault is not None and fault.request.kind is FaultKind.KILL:
                fault.request = fault.request.model_copy(update={"restart": mode})
                await self._end(fault)
                return [f"ended {fault.name}"]
            ended = []
            if fault is not None:
                await self._end(fault)
                ended = [f"ended {fault.name}"]
            death = self._record_moment(FaultRequest(kind=FaultKind.KILL, target=name, restart=mode))
            if zone.state is not ZoneState.DEAD:
                await zone.kill()
            await self._restart(zone, mode)
            self._recording.fault_ended(death)
            return [*ended, f"restarted zone {name}"]

    async def restart_coordinator(self, name: str) -> list[str]:
        """Ends whatever fault it is under."""
        known_zone(name, self._zones.names)
        async with self._verbs:
            coordinator, fault = self._coordinators[name], self._holding(name, of_coordinator=True)
            if fault is not None:
                await self._end(fault)
                if fault.request.kind is FaultKind.COORDINATOR_KILL:
                    return [f"ended {fault.name}"]
            death = self._record_moment(FaultRequest(kind=FaultKind.COORDINATOR_KILL, target=name))
            await coordinator.kill()
            await self._start_coordinator(coordinator)
            self._recording.fault_ended(death)
            return [f"restarted coordinator {name}"]

    async def close(self) -> None:
        """Nothing more happens by itself; what is in force is recorded as ended now."""
        for fault in self._faults.values():
            await _cancelled(fault.timer)
            await _cancelled(fault.slowing)
            self._recording.fault_ended(fault.row)

    def _check(self, request: FaultRequest) -> None:
        kind = request.kind
        if kind.of_links:
            return
        known_zone(request.target, self._zones.names)
        under = self._holding(request.target, of_coordinator=kind.of_coordinator)
        what = f"coordinator {request.target}" if kind.of_coordinator else f"zone {request.target}"
        if under is not None:
            raise Conflict(f"{what} is under {under.name} already: zonelab fault end {under.number}, or zonelab heal")
        thing = self._coordinators[request.target] if kind.of_coordinator else self._zones[request.target]
        if thing.state is not ZoneState.RUNNING:
            raise Conflict(f"{what} is {thing.state}; it must be running: zonelab heal")
        if request.restart is Restart.WARM:
            self._warm_source(request.target)

    def _holding(self, zone: str, *, of_coordinator: bool) -> Fault | None:
        for fault in self._faults.values():
            kind = fault.request.kind
            if not kind.of_links and kind.of_coordinator is of_coordinator and fault.request.target == zone:
                return fault
        return None

    async def _enforce(self, fault: Fault) -> None:
        request, kind = fault.request, fault.request.kind
        if kind.of_links:
            await self._push()
        elif kind is FaultKind.PAUSE:
            await self._zones[request.target].pause()
        elif kind is FaultKind.KILL:
            await self._zones[request.target].kill()
        elif kind is FaultKind.SLOW:
            assert request.factor is not None
            fault.slowing = asyncio.create_task(_slowed(self._zones[request.target], request.factor))
        elif kind is FaultKind.COORDINATOR_PAUSE:
            self._coordinators[request.target].pause()
        else:
            await self._coordinators[request.target].kill()

    async def _end(self, fault: Fault) -> None:
        """A fault that cannot be ended stays in force."""
        if fault.timer is not asyncio.current_task():
            await _cancelled(fault.timer)
        request, kind = fault.request, fault.request.kind
        if kind.of_links:
            await self._push(without=fault)
        elif kind.of_coordinator:
            await self._end_of_coordinator(self._coordinators[request.target], kind)
        else:
            await _cancelled(fault.slowing)
            await self._end_of_zone(self._zones[request.target], request.restart)
        del self._faults[fault.number]
        self._recording.fault_ended(fault.row)

    async def _end_of_coordinator(self, coordinator: CoordinatorProcess, kind: FaultKind) -> None:
        if kind is FaultKind.COORDINATOR_KILL or coordinator.state is ZoneState.DEAD:
            await self._start_coordinator(coordinator)
        else:
            coordinator.resume()
            await self._push()

    async def _end_of_zone(self, zone: RealZone, mode: Restart) -> None:
        if zone.state is ZoneState.PAUSED:
            await zone.resume()
        elif zone.state is ZoneState.DEAD:
            await self._restart(zone, mode)

    async def _restart(self, zone: RealZone, mode: Restart) -> None:
        await zone.restart(mode, warm_from=self._warm_source(zone.name) if mode is Restart.WARM else None)

    def _warm_source(self, name: str) -> RealZone:
        for zone in self._zones:
            if zone.name != name and zone.state is ZoneState.RUNNING:
                return zone
        raise Conflict(f"zone {name}: no other zone is running to copy the data from; accepted now: keep, wipe")

    def _healing(self) -> Iterator[Callable[[], Awaitable[str]]]:
        """Everything that healing tries; each says what it has done, or nothing."""
        yield from (partial(self._ended, fault) for fault in list(self._faults.values()))
        yield from (partial(self._revived, zone) for zone in self._zones)
        yield from (partial(self._replaced, coordinator) for coordinator in self._coordinators.values())

    async def _ended(self, fault: Fault) -> str:
        await self._end(fault)
        return f"ended {fault.name}"

    async def _revived(self, zone: RealZone) -> str:
        if zone.state is not ZoneState.DEAD or self.fault_on(zone.name) is not None:
            return ""
        await self._restart(zone, Restart.KEEP)
        return f"restarted zone {zone.name}"

    async def _replaced(self, coordinator: CoordinatorProcess) -> str:
        if coordinator.state is not ZoneState.DEAD or self._holding(coordinator.zone, of_coordinator=True) is not None:
            return ""
        await self._start_coordinator(coordinator)
        return f"restarted coordinator {coordinator.zone}"

    async def _start_coordinator(self, coordinator: CoordinatorProcess) -> None:
        await coordinator.start()
        await self._push()

    async def _push(self, *, without: Fault | None = None) -> None:
        """Tell every coordinator how its links are to be."""
        names = self._zones.names
        states = {f"{one}>{other}": LinkState() for one in names for other in names if one != other}
        for fault in self._faults.values():
            if fault is not without:
                states.update({link: fault.request.on(states[link]) for link in fault.links})
        told: list[Awaitable[None]] = []
        for zone, coordinator in self._coordinators.items():
            own = {link: state.model_dump(mode="json") for link, state in states.items() if zone in link.split(">")}
            told.append(coordinator.set_links(own))
        await asyncio.gather(*told)

    async def _end_after(self, fault: Fault, for_s: float) -> None:
        await asyncio.sleep(for_s)
        async with self._verbs:
            if fault.number not in self._faults:
                return
            try:
                await self._end(fault)
            except (ClusterError, ZoneError) as error:
                LOGGER.error("%s could not be ended: %s", fault.name, error)
                self._recording.verb("end", {"fault": fault.name}, error=str(error))

    def _record(self, fault: Fault) -> None:
        fault.row = self._recording.fault_began(
            name=fault.name,
            kind=fault.request.kind.value,
            target=fault.request.target,
            begin_ns=fault.begin_ns,
            colour=COLOURS[_COLOUR_OF.get(fault.request.kind, fault.request.kind.value)],
            detail=json.dumps(fault.request.model_dump(mode="json", exclude_defaults=True)),
        )

    def _record_moment(self, request: FaultRequest) -> dict[str, Any]:
        """The row of something that ends within the same verb."""
        fault = Fault(self._next_number, request, self._recording.now_ns())
        self._next_number += 1
        self._record(fault)
        return fault.row


async def _cancelled(task: "asyncio.Task[None] | None") -> None:
    if task is not None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _slowed(zone: RealZone, factor: float) -> None:
    """The server runs for one part in ``factor`` of each period, and for the rest it is stopped."""
    runs_s = SLOW_PERIOD_S / factor
    with contextlib.suppress(ZoneError):  # it died
        while True:
            await _pausing(zone.pause, SLOW_PERIOD_S - runs_s)
            await _pausing(zone.resume, runs_s)


async def _pausing(verb: Callable[[], Awaitable[None]], then_s: float) -> None:
    await verb()
    await asyncio.sleep(then_s)
