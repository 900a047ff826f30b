"""Schedule of a run's faults: each begins and ends at its time, and has a row for each in the table of faults."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from zonelab.analysis.runs.history import fault_row
from zonelab.analysis.runs.tables import Table
from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.faults.fault import Action, Stage
from zonelab.scenarios.tasks import Halt

_POLL_NS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class PlannedFault:
    """A fault of the scenario, ready to happen. ``name`` is unique in the run and says what and where: ``0:kill b``."""

    name: str
    kind: str
    target: str
    colour: str
    begin_ns: int
    duration_ns: int
    holds: frozenset[str]
    """Things that no other fault can hold at the same time."""
    detail: str
    action: Action


def plan_faults(faults: Iterable[AnyFault], stage: Stage) -> list[PlannedFault]:
    return [
        PlannedFault(
            name=f"{index}:{fault.kind} {fault.target}",
            kind=fault.kind,
            target=fault.target,
            colour=fault.colour,
            begin_ns=round(fault.at_s * NS_PER_S),
            duration_ns=round(fault.for_s * NS_PER_S),
            holds=frozenset(fault.holds(stage.targets)),
            detail=json.dumps(fault.model_dump(mode="json", exclude_none=True)),
            action=fault.action(stage),
        )
        for index, fault in enumerate(faults)
    ]


class FaultSchedule:
    """Task that starts and ends a run's faults. ``table`` gets a row when one begins, and a complete one at its end."""

    def __init__(self, faults: Iterable[PlannedFault], *, table: Table, runtime: Runtime, halt: Halt) -> None:
        self._faults = tuple(faults)
        self._table = table
        self._runtime = runtime
        self._halt = halt
        self._active: dict[str, PlannedFault] = {}
        self._rows: dict[str, dict[str, Any]] = {}

    @property
    def faults(self) -> tuple[PlannedFault, ...]:
        return self._faults

    @property
    def in_force(self) -> list[dict[str, Any]]:
        """The rows of those that have begun and not ended."""
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
        """Return whether a fault that is to be over by now still ends, as a server that restarts does."""
        return any(other.holds & fault.holds for other in self._active.values())

    async def _begin(self, fault: PlannedFault) -> None:
        row = fault_row(
            fault=fault.name,
            kind=fault.kind,
            target=fault.target,
            begin_ns=self._runtime.now_ns(),
            colour=fault.colour,
            detail=fault.detail,
        )
        self._table.append(row)
        self._rows[fault.name] = row
        self._active[fault.name] = fault
        await fault.action.begin()

    async def _end(self, fault: PlannedFault) -> None:
        await fault.action.end()
        del self._active[fault.name]
        row = {**self._rows.pop(fault.name), "end_ns": self._runtime.now_ns()}
        if told := fault.action.told():
            row["detail"] = json.dumps({**json.loads(fault.detail), **told})
        self._table.append(row)
