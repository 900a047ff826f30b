"""One run of a sweep: a setting with a seed, in simulation, judged in memory and measured."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from zonelab.analysis.measures import chosen, confirmed, events, having, latency_ns
from zonelab.analysis.observation import Observation
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.statistics import quantiles
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.fault_draws.swarm import drawn
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables
from zonelab.scenarios.spec.scenario import Scenario

DUPLICATES = "duplicates per message"
"""Deliveries beyond the first, per message that was delivered at all."""

LATENESS = "lateness"
QUANTILES = ("p50", "p99")
_QUEUE_OPERATIONS = ("push", "pop")


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepMeasure:
    """Settings that every run of a sweep has. ``messages``: about how many in drawn runs; None: scenarios run
    as they are.
    """

    scenarios: tuple[Scenario, ...]
    messages: int | None = None

    def __call__(self, setting_and_seed: tuple[int, int]) -> Observation:
        index, seed = setting_and_seed
        return _measured(attempt(self.scenario(index, seed)))

    def scenario(self, index: int, seed: int) -> Scenario:
        """Return what setting ``index`` runs with ``seed``. If ``messages`` are given, the seed draws the
        faults, too.
        """
        base = self.scenarios[index]
        if self.messages is not None:
            return drawn(base, seed=seed, messages=self.messages)
        return base.model_copy(update={"seed": seed})


def _measured(trial: Trial) -> Observation:
    """Return what ``trial`` showed, with numbers of the run as a whole: in milliseconds, but for ratios."""
    verdict = trial.verdict
    if verdict is None:
        return trial.observation()
    of_queue = "queue" in verdict.sections
    numbers = dict(_latencies(trial.tables, of_queue=of_queue))
    if of_queue:
        totals = verdict.totals
        if totals.delivered:
            numbers[DUPLICATES] = (totals.deliveries - totals.delivered) / totals.delivered
        late = verdict.queue.lateness_ms.get("all", {})
        numbers |= {f"{LATENESS} {name}": late[name] for name in QUANTILES if name in late}
    return replace(trial.observation(), numbers=numbers)


def _latencies(tables: MemoryTables, *, of_queue: bool) -> Iterator[tuple[str, float]]:
    """Yield quantiles of confirmed operations (ms)."""
    (rows,) = events([tables(OPERATIONS_NAME, OPERATIONS).batch()])
    ok = chosen(rows, confirmed(rows))
    names = _QUEUE_OPERATIONS if of_queue else sorted(ok["f"].dictionary_decode().unique().to_pylist())
    for f in names:
        for name, value_ns in quantiles(latency_ns(chosen(ok, having(ok, "f", f))), QUANTILES).items():
            yield f"{f} {name}", value_ns / NS_PER_MS
