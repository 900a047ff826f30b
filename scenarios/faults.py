"""The fault catalogue: how each fault begins and ends, what it is called, and the colour of its band in plots.

Faults of a zone act on its server (SIGKILL, SIGSTOP) or its clock; faults of the network act on the links between
coordinators and zones, never on a coordinator's way to the server of its own zone; a crash ends a program, which may be
a consumer, a producer or a coordinator.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cluster.links.lag import parse_lag
from cluster.links.link import Cut
from cluster.sim.zone import SimZone
from cluster.testbed import Testbed
from cluster.zone import Restart, ZoneError
from engine.ports import Runtime
from scenarios.actions import (
    Action,
    ClockWrong,
    CoordinatorDeath,
    Crash,
    LinkCut,
    LinkDuplication,
    LinkLag,
    LinkLoss,
    LinkSwizzle,
    ProducerDeath,
    ZoneDeath,
    ZonePause,
    ZoneSlow,
)
from scenarios.clients.consumers import Consumers
from scenarios.clients.producers import Producer
from scenarios.spec.rules import OfLinks, fault_links, grip
from scenarios.spec.scenario import (
    AnyFault,
    ClockFault,
    ConsumerCrash,
    CoordinatorCrash,
    CutFault,
    DuplicateFault,
    Kill,
    LagFault,
    LinksFault,
    LossFault,
    Pause,
    PowerFailure,
    ProducerCrash,
    Scenario,
    SlowZone,
    SwizzleClog,
    Wipe,
)
from scenarios.tasks import Halt

_NS_PER_S = 1_000_000_000
_NS_PER_MS = 1_000_000
_POLL_NS = 1_000_000

COLOURS = {
    "kill": "#d62728",
    "wipe": "#8b0000",
    "power_failure": "#e377c2",
    "pause": "#ff7f0e",
    "slow": "#ffbb78",
    "clock": "#bcbd22",
    "lag": "#1f77b4",
    "loss": "#17becf",
    "duplicate": "#7fc97f",
    "cut": "#9467bd",
    "clog": "#c5b0d5",
    "swizzle_clog": "#5e3c99",
    "consumer_crash": "#8c564b",
    "producer_crash": "#c49c94",
    "coordinator_crash": "#2ca02c",
}


@dataclass(frozen=True, kw_only=True)
class PlannedFault:
    """A fault of the scenario, ready to happen. ``name`` is unique in the run and says what and where: ``0:kill b``."""

    name: str
    kind: str
    target: str
    begin_ns: int
    duration_ns: int
    holds: frozenset[str]
    """What no other fault can hold at the same time."""
    detail: str
    action: Action


def plan_faults(
    scenario: Scenario,
    testbed: Testbed,
    *,
    consumers: Consumers | None = None,
    producers: Mapping[str, Producer] | None = None,
) -> list[PlannedFault]:
    """``consumers`` and ``producers`` are the programs that crashes end; a run without a queue has none."""
    catalogue = _Catalogue(scenario, testbed, consumers, producers or {})
    return [catalogue.planned(index, fault) for index, fault in enumerate(scenario.faults)]


def _target(fault: AnyFault) -> str:
    if isinstance(fault, ConsumerCrash):
        return f"consumer-{fault.zone}-{fault.consumer}"
    if isinstance(fault, ProducerCrash):
        return f"producer-{fault.zone}"
    if isinstance(fault, LinksFault):
        return fault.link or fault.zone or "all links"
    if isinstance(fault, CutFault):
        return fault.isolate or fault.one_way or f"{','.join(fault.halves or ())}|rest"
    return fault.zone or "all links"


@dataclass(frozen=True)
class _Catalogue:
    """Makes faults of a scenario into what happens to one cluster and its programs."""

    scenario: Scenario
    testbed: Testbed
    consumers: Consumers | None
    producers: Mapping[str, Producer]

    def planned(self, index: int, fault: AnyFault) -> PlannedFault:
        target = _target(fault)
        return PlannedFault(
            name=f"{index}:{fault.kind} {target}",
            kind=fault.kind,
            target=target,
            begin_ns=round(fault.at_s * _NS_PER_S),
            duration_ns=round(fault.for_s * _NS_PER_S),
            holds=frozenset(grip(self.scenario, fault)),
            detail=json.dumps(fault.model_dump(mode="json", exclude_none=True)),
            action=self._action(fault),
        )

    def _action(self, fault: AnyFault) -> Action:
        if isinstance(fault, Kill | Wipe | PowerFailure):
            return self._death(fault)
        if isinstance(fault, Pause):
            return ZonePause(self.testbed.zones[fault.zone])
        if isinstance(fault, SlowZone):
            return ZoneSlow(self._simulated(fault), fault.factor)
        if isinstance(fault, ClockFault):
            return ClockWrong(self.testbed.clock(fault.zone), fault.offset_ms * _NS_PER_MS, fault.drift_ppm)
        if isinstance(fault, ConsumerCrash):
            everyone = tuple(range(self.scenario.consumers.per_zone))
            numbers = everyone if fault.consumer == "all" else (fault.consumer,)
            assert self.consumers is not None, "the rules of a scenario refuse crashes of programs that are not there"
            return Crash(self.consumers, fault.zone, numbers, fault.at_command or 1)
        if isinstance(fault, ProducerCrash):
            return ProducerDeath(self.producers[fault.zone], fault.at_command or 1)
        return self._of_links(fault)

    def _of_links(self, fault: OfLinks) -> Action:
        links = tuple(self.testbed.links[pair] for pair in fault_links(self.scenario, fault))
        if isinstance(fault, CoordinatorCrash):
            return CoordinatorDeath(self.testbed.coordinators[fault.zone], LinkCut(links, Cut.DROP))
        if isinstance(fault, SwizzleClog):
            runtime = self.testbed.runtime
            random = runtime.random(f"swizzle {fault.order}")
            return LinkSwizzle(links, runtime, random, round(fault.for_s * _NS_PER_S))
        if isinstance(fault, LagFault):
            return LinkLag(links, parse_lag(fault.lag))
        if isinstance(fault, LossFault):
            return LinkLoss(links, fault.share)
        if isinstance(fault, DuplicateFault):
            return LinkDuplication(links, fault.share, round(fault.after_ms * _NS_PER_MS))
        return LinkCut(links, Cut(fault.mode) if isinstance(fault, CutFault) else Cut.HOLD)

    def _death(self, fault: Kill | Wipe | PowerFailure) -> Action:
        zone = self.testbed.zones[fault.zone]
        restart = Restart.WIPE if isinstance(fault, Wipe) else Restart(fault.restart)
        others = tuple(other for name, other in self.testbed.zones.items() if name != fault.zone)
        if isinstance(fault, PowerFailure):
            return ZoneDeath(zone, restart, others, partial(self._simulated(fault).fail_power, torn=fault.torn))
        return ZoneDeath(zone, restart, others, zone.kill)

    def _simulated(self, fault: PowerFailure | SlowZone) -> SimZone:
        zone = self.testbed.zones[fault.zone]
        if not isinstance(zone, SimZone):
            raise ZoneError(f"zone {fault.zone}: {fault.kind} is possible in simulation only")
        return zone


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
        """As in ``analysis.runs.history.FAULTS``, in order of begin."""
        return list(self._rows.values())

    async def run(self, fault: PlannedFault, *, load_begin_ns: int) -> None:
        """Let one fault begin and end at its times. If the run is halted it stays as it is, for ``heal``."""
        begin_ns = load_begin_ns + fault.begin_ns
        if await self._halt.sleep(begin_ns - self._runtime.now_ns()):
            return
        while self._held(fault):
            if await self._halt.sleep(_POLL_NS):
                return
        await self._begin(fault)
        if await self._halt.sleep(begin_ns + fault.duration_ns - self._runtime.now_ns()):
            return
        await self._end(fault)

    async def heal(self) -> None:
        """End every fault that is still in force."""
        for fault in list(self._active.values()):
            await self._end(fault)

    def _held(self, fault: PlannedFault) -> bool:
        """Whether a fault that is to be over by now still ends, as a server that restarts does."""
        return any(other.holds & fault.holds for other in self._active.values())

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
        await fault.action.end()
        del self._active[fault.name]
        self._rows[fault.name]["end_ns"] = self._runtime.now_ns()
