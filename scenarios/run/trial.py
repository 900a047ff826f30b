"""One simulated run that is judged in memory and leaves no files: what a hunt and a shrinker repeat by the thousand."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from zonelab.analysis.checkers.check import check_recorded
from zonelab.analysis.checkers.verdict import Verdict, observed
from zonelab.analysis.observation import Observation
from zonelab.analysis.runs.accesses import VALUES_NAME
from zonelab.analysis.runs.order import ORDER_NAME
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.simulated import Observe, SimulatedRun, recorded, simulate
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryRun, MemoryTables
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.scenario import Scenario

_HISTORY = (OPERATIONS_NAME, ORDER_NAME, VALUES_NAME)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """``verdict`` is None if the lab itself failed: there is nothing to judge then."""

    scenario: Scenario
    run: SimulatedRun
    tables: MemoryTables
    verdict: Verdict | None

    @property
    def violated(self) -> tuple[str, ...]:
        """The forbidden classes, properties or anomalies, that have cases."""
        return () if self.verdict is None else self.verdict.violated

    @property
    def recorded(self) -> MemoryRun:
        """The run as the checker reads it."""
        return recorded(self.scenario, self.run, self.tables)

    def observation(self) -> Observation:
        """Return the verdict, its cases and the hash of the events, or why there is no verdict."""
        trace_hash = self.run.trace_hash
        if self.verdict is None:
            return Observation(problem=self.run.record.error or "the lab failed", trace_hash=trace_hash)
        return observed(self.verdict, trace_hash=trace_hash)

    def equals(self, other: "Trial") -> bool:
        """Return whether the same events happened and left the same history."""
        return self.run.trace_hash == other.run.trace_hash and self._history == other._history

    @property
    def _history(self) -> dict[str, object]:
        tables = self.tables.tables
        return {name: tables[name].rows for name in _HISTORY if name in tables}


def attempt(
    scenario: Scenario,
    *,
    make_queue: MakeQueue = queue_under_test,
    observe: Observe | None = None,
    watcher: Watcher | None = None,
    keep_trace: bool = False,
) -> Trial:
    """Run ``scenario`` and judge what became of its messages, or of the data of its workload."""
    tables = MemoryTables()
    with uncollected():
        run = simulate(scenario, tables, make_queue=make_queue, observe=observe, watcher=watcher, keep_trace=keep_trace)
        verdict = None if run.record.status == "failed" else check_recorded(recorded(scenario, run, tables))
    return Trial(scenario=scenario, run=run, tables=tables, verdict=verdict)


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect what earlier runs have left now, and nothing meanwhile: most of a run stays until its end.

    So the collector would look through it in vain, for a tenth of the time. Whoever needs no more of a run than a few
    figures ends the block when the run is gone, or the collector looks through it once more.
    """
    if not gc.isenabled():
        yield
        return
    gc.collect(0)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
