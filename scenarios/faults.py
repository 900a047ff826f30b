"""The fault catalogue: how each fault begins and ends, what it is called, and the colour of its band in plots.

Faults of a zone act on its server (SIGKILL, SIGSTOP); faults of the network act on the links between coordinators and
zones, never on a coordinator's way to the server of its own zone; a crash acts on a consumer's program.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from cluster.lag import Lag, parse_lag
from cluster.link import Cut, Link
from cluster.testbed import Testbed
from cluster.zone import Restart, Zone, ZoneError, ZoneState
from engine.ports import Runtime
from scenarios.consumers import Consumers
from scenarios.crew import Halt
from scenarios.rules import fault_links
from scenarios.spec import AnyFault, ConsumerCrash, CutFault, Kill, LagFault, Pause, Scenario, Wipe

COLOURS = {
    "kill": "#d62728",
    "wipe": "#8b0000",
    "pause": "#ff7f0e",
    "lag": "#1f77b4",
    "cut": "#9467bd",
    "consumer_crash": "#8c564b",
}


class Action(Protocol):
    """One kind of fault. ``begin`` and ``end`` return when the cluster is in the state that they name."""

    async def begin(self) -> None: ...
    async def end(self) -> None: ...


@dataclass(frozen=True)
class ZoneDeath:
    """SIGKILL of a zone's server, then a restart with its files, without them, or with a copy of a live zone's."""

    zone: Zone
    restart: Restart
    others: tuple[Zone, ...]

    async def begin(self) -> None:
        await self.zone.kill()

    async def end(self) -> None:
        await self.zone.restart(self.restart, warm_from=self._source() if self.restart is Restart.WARM else None)

    def _source(self) -> Zone:
        for zone in self.others:
            if zone.state is ZoneState.RUNNING:
                return zone
        raise ZoneError(f"zone {self.zone.name}: no running zone to copy the data from")


@dataclass(frozen=True)
class ZonePause:
    """SIGSTOP of a zone's server: it keeps its connections and answers nobody."""

    zone: Zone

    async def begin(self) -> None:
        await self.zone.pause()

    async def end(self) -> None:
        await self.zone.resume()


@dataclass(frozen=True)
class LinkLag:
    """Another lag on some links, then the one that they had."""

    links: tuple[Link, ...]
    lag: Lag
    before: dict[int, Lag] = field(default_factory=dict)

    async def begin(self) -> None:
        for index, link in enumerate(self.links):
            self.before[index] = link.lag
            link.set_lag(self.lag)

    async def end(self) -> None:
        for index, link in enumerate(self.links):
            link.set_lag(self.before[index])


@dataclass(frozen=True)
class LinkCut:
    """Some links carry nothing."""

    links: tuple[Link, ...]
    mode: Cut

    async def begin(self) -> None:
        for link in self.links:
            link.cut(self.mode)

    async def end(self) -> None:
        for link in self.links:
            link.mend()


@dataclass(frozen=True)
class Crash:
    """The programs of some consumers of a zone end between two commands; later others take their places."""

    consumers: Consumers
    zone: str
    numbers: tuple[int, ...]
    at_command: int

    async def begin(self) -> None:
        for number in self.numbers:
            self.consumers.crash(self.zone, number, at_command=self.at_command)

    async def end(self) -> None:
        for number in self.numbers:
            self.consumers.replace(self.zone, number)


@dataclass(frozen=True, kw_only=True)
class PlannedFault:
    """A fault of the scenario, ready to happen. ``name`` is unique in the run and says what and where: ``0:kill b``."""

    name: str
    kind: str
    target: str
    begin_ns: int
    duration_ns: int
    detail: str
    action: Action


def plan_faults(scenario: Scenario, testbed: Testbed, consumers: Consumers) -> list[PlannedFault]:
    return [_planned(index, fault, scenario, testbed, consumers) for index, fault in enumerate(scenario.faults)]


def _planned(index: int, fault: AnyFault, scenario: Scenario, testbed: Testbed, consumers: Consumers) -> PlannedFault:
    target = _target(fault)
    return PlannedFault(
        name=f"{index}:{fault.kind} {target}",
        kind=fault.kind,
        target=target,
        begin_ns=round(fault.at_s * 1e9),
        duration_ns=round(fault.for_s * 1e9),
        detail=json.dumps(fault.model_dump(mode="json", exclude_none=True)),
        action=_action(fault, scenario, testbed, consumers),
    )


def _target(fault: AnyFault) -> str:
    if isinstance(fault, ConsumerCrash):
        return f"consumer-{fault.zone}-{fault.consumer}"
    if isinstance(fault, LagFault):
        return fault.link or fault.zone or "all links"
    if isinstance(fault, CutFault):
        return fault.isolate or fault.one_way or f"{','.join(fault.halves or ())}|rest"
    return fault.zone


def _action(fault: AnyFault, scenario: Scenario, testbed: Testbed, consumers: Consumers) -> Action:
    zones, links = testbed.zones, testbed.links
    if isinstance(fault, Kill | Wipe):
        restart = Restart(fault.restart) if isinstance(fault, Kill) else Restart.WIPE
        others = tuple(zone for name, zone in zones.items() if name != fault.zone)
        return ZoneDeath(zones[fault.zone], restart, others)
    if isinstance(fault, Pause):
        return ZonePause(zones[fault.zone])
    if isinstance(fault, ConsumerCrash):
        everyone = tuple(range(scenario.consumers.per_zone))
        numbers = everyone if fault.consumer == "all" else (fault.consumer,)
        return Crash(consumers, fault.zone, numbers, fault.at_command or 1)
    touched = tuple(links[pair] for pair in fault_links(scenario, fault))
    if isinstance(fault, LagFault):
        return LinkLag(touched, parse_lag(fault.lag))
    return LinkCut(touched, Cut(fault.mode))


class FaultSchedule:
    """Makes the faults of a run happen and keeps a row of each for ``faults.parquet``."""

    def __init__(self, faults: Iterable[PlannedFault], *, runtime: Runtime, halt: Halt) -> None:
        self._faults = tuple(faults)
        self._runtime = runtime
        self._halt = halt
        self._active: dict[str, PlannedFault] = {}
        self._rows: dict[str, dict[str, Any]] = {}

    @property
    def faults(self) -> tuple[PlannedFault, ...]:
        return self._faults

    @property
    def rows(self) -> list[dict[str, Any]]:
        """As in ``analysis.history.FAULTS``, in order of begin."""
        return list(self._rows.values())

    async def run(self, fault: PlannedFault, *, load_begin_ns: int) -> None:
        """Let one fault begin and end at its times. If the run is halted it stays as it is, for ``heal``."""
        begin_ns = load_begin_ns + fault.begin_ns
        if await self._halt.sleep(begin_ns - self._runtime.now_ns()):
            return
        await self._begin(fault)
        if await self._halt.sleep(begin_ns + fault.duration_ns - self._runtime.now_ns()):
            return
        await self._end(fault)

    async def heal(self) -> None:
        """End every fault that is still in force."""
        for fault in list(self._active.values()):
            await self._end(fault)

    async def _begin(self, fault: PlannedFault) -> None:
        self._rows[fault.name] = {
            "fault": fault.name,
            "kind": fault.kind,
            "target": fault.target,
            "begin_ns": self._runtime.now_ns(),
            "end_ns": None,
            "colour": COLOURS[fault.kind],
            "detail": fault.detail,
        }
        self._active[fault.name] = fault
        await fault.action.begin()

    async def _end(self, fault: PlannedFault) -> None:
        del self._active[fault.name]
        await fault.action.end()
        self._rows[fault.name]["end_ns"] = self._runtime.now_ns()
