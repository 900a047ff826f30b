"""One simulated run of accesses that is judged in memory and leaves no files: what a hunt repeats by the thousand."""

from dataclasses import dataclass

from analysis.checkers.consistency.consistency import check_accesses
from analysis.checkers.consistency.verdict import ConsistencyVerdict
from analysis.runs.accesses import VALUES_NAME
from scenarios.run.simulated import Observe, Simulated, recorded, simulate
from scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables
from scenarios.spec.scenario import Scenario


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessTrial:
    """As ``scenarios.trial.Trial``, for a run whose clients used no queue."""

    scenario: Scenario
    run: Simulated
    tables: MemoryTables
    verdict: ConsistencyVerdict | None

    @property
    def violated(self) -> tuple[str, ...]:
        """The forbidden anomalies that occurred."""
        if self.verdict is None:
            return ()
        return tuple(name for name in self.verdict.forbid if self.verdict.counts[name])

    @property
    def pushed(self) -> int:
        """How many operations were begun."""
        return 0 if self.verdict is None else sum(sum(one.values()) for one in self.verdict.operations.values())

    def equals(self, other: "AccessTrial") -> bool:
        """Whether the same events happened and left the same history."""
        mine, theirs = (
            [one.tables.tables[name].rows for name in (OPERATIONS_NAME, VALUES_NAME)] for one in (self, other)
        )
        return self.run.trace_hash == other.run.trace_hash and mine == theirs


def attempt_accesses(scenario: Scenario, *, observe: Observe | None = None, keep_trace: bool = False) -> AccessTrial:
    tables = MemoryTables()
    run = simulate(scenario, tables, observe=observe, keep_trace=keep_trace)
    verdict = None if run.record.status == "failed" else check_accesses(recorded(scenario, run, tables))
    return AccessTrial(scenario=scenario, run=run, tables=tables, verdict=verdict)
