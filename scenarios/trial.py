"""One simulated run that is judged in memory and leaves no files: what a hunt and a shrinker repeat by the thousand."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from analysis.checkers.queue.queue import check_recorded
from analysis.checkers.verdict import MessageClass, Verdict
from scenarios.queues.dyno import queue_under_test
from scenarios.run.simulated import Observe, Simulated, recorded, simulate
from scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables
from scenarios.runner import MakeQueue
from scenarios.spec.scenario import Scenario


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """``verdict`` is None if the lab itself failed: there is nothing to judge then."""

    scenario: Scenario
    run: Simulated
    tables: MemoryTables
    verdict: Verdict | None

    @property
    def violated(self) -> tuple[MessageClass, ...]:
        """The forbidden classes that have cases."""
        if self.verdict is None:
            return ()
        counts = self.verdict.counts
        return tuple(name for name in MessageClass if name in self.scenario.checks.forbid and counts[name])

    @property
    def pushed(self) -> int:
        """How many messages were pushed."""
        return 0 if self.verdict is None else self.verdict.totals.pushed

    def equals(self, other: "Trial") -> bool:
        """Whether the same events happened and left the same history."""
        mine, theirs = (one.tables.tables[OPERATIONS_NAME].rows for one in (self, other))
        return self.run.trace_hash == other.run.trace_hash and mine == theirs


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collect what earlier runs have left now, and nothing meanwhile: most of a run stays until its end.

    So the collector would look through it in vain, for a tenth of the time.
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


def attempt(
    scenario: Scenario,
    *,
    make_queue: MakeQueue = queue_under_test,
    observe: Observe | None = None,
    keep_trace: bool = False,
) -> Trial:
    tables = MemoryTables()
    with _uncollected():
        run = simulate(scenario, tables, make_queue=make_queue, observe=observe, keep_trace=keep_trace)
        verdict = None if run.record.status == "failed" else check_recorded(recorded(scenario, run, tables))
    return Trial(scenario=scenario, run=run, tables=tables, verdict=verdict)
