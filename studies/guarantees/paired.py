"""Studies of twins: each run is compared with one of the same seed that differs from it in what is studied alone.

Load, faults and lags of twins are equal, and a sign test over all pairs tells an effect from chance, also under faults
that break things anyway.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import methodcaller
from typing import Generic, Protocol, Self, TypeVar

from zonelab.analysis.observation import Observation
from zonelab.analysis.paired_runs import ObservedPair, PairedDifference, is_pair, sign_test
from zonelab.analysis.workloads import WorkloadKind
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.fault_draws.fault_classes import FaultClass
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.task import RunTask

CONFIDENCE = 0.95
"""That chance is nowhere in a whole table taken for an effect (Bonferroni over its rows and what they compare)."""

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)
Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of both twins: faults, level, and clients of a queue unless a ``workload`` is given."""

    fault_class: FaultClass
    level: Level = Level.DC_QUORUM
    workload: WorkloadKind | None = None

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.fault_class, self.level, self.workload)))


class PairedRun(Protocol[Row_co]):
    """One run that can be made, in another process, too. A run with nothing to compare is its own ``twin``.

    ``setting``: what it is but for its seed, in words that no other has.
    """

    @property
    def row(self) -> Row_co: ...
    @property
    def conditions(self) -> Conditions: ...
    @property
    def setting(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def twin(self) -> Self: ...
    def measure(self) -> Observation:
        """Make the run. The observation counts the classes that are compared, and no other ones."""


@dataclass(slots=True)
class RowResult:
    """The runs of one row beside their twins: each pair with its conditions. ``problems``: by seed."""

    pairs: list[tuple[Conditions, ObservedPair]] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)

    def add(self, measured: Observation, twin: Observation, *, conditions: Conditions, seed: int) -> None:
        """Take in a run and its twin, which has the same seed and has all mechanisms."""
        if is_pair(twin, measured):
            self.pairs.append((conditions, (twin, measured)))
        if (problem := measured.problem or twin.problem) is not None:
            self.problems[seed] = problem

    @property
    def runs(self) -> int:
        """The number of pairs."""
        return len(self.pairs)

    @property
    def failed_runs(self) -> int:
        """Runs that have a case of what is compared."""
        return sum(bool(run.counts) for _, (_, run) in self.pairs)

    @property
    def failed_twins(self) -> int:
        """Twins that have one."""
        return sum(bool(twin.counts) for _, (twin, _) in self.pairs)

    @property
    def failing(self) -> dict[str, Counter[Conditions]]:
        """Runs by class and conditions."""
        found: dict[str, Counter[Conditions]] = {}
        for conditions, (_, run) in self.pairs:
            for name in run.counts:
                found.setdefault(name, Counter())[conditions] += 1
        return found

    @property
    def numbers(self) -> dict[str, float]:
        """The sum of each number over the runs."""
        return _sums(run for _, (_, run) in self.pairs)

    @property
    def twin_numbers(self) -> dict[str, float]:
        """The same over the twins."""
        return _sums(twin for _, (twin, _) in self.pairs)

    def difference(self, name: str) -> PairedDifference:
        """Return the difference of a run to its twin in a class or a number; a run that lacks it has none of it."""
        return PairedDifference.of(
            (pair for _, pair in self.pairs), lambda run: run.counts.get(name, run.numbers.get(name, 0))
        )

    def failing_runs(self, name: str) -> int:
        return sum(name in run.counts for _, (_, run) in self.pairs)

    def mean(self, name: str) -> tuple[float, float]:
        """Return the means of a run and of a twin."""
        runs = max(1, self.runs)
        return self.numbers.get(name, 0.0) / runs, self.twin_numbers.get(name, 0.0) / runs


def _sums(runs: Iterable[Observation]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for run in runs:
        for name, number in run.numbers.items():
            sums[name] = sums.get(name, 0) + number
    return sums


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedStudy(Generic[Row]):
    """The results by row. ``tests``: sign tests made for each of them."""

    rows: Mapping[Row, RowResult]
    tests: int

    def more(self, row: Row, names: Iterable[Name]) -> tuple[Name, ...]:
        """Return what the runs of ``row`` have more of than their twins, oftener than chance explains."""
        return tuple(name for name in names if self.rows[row].difference(name).chance_of_more < self._limit)

    def fewer(self, row: Row, names: Iterable[Name]) -> tuple[Name, ...]:
        """Return what they have less of."""
        return tuple(name for name in names if self.rows[row].difference(name).chance_of_fewer < self._limit)

    @property
    def least_seeds(self) -> int:
        """With fewer seeds a row cannot show anything, even if all its pairs differ the same way."""
        return next(pairs for pairs in count(1) if sign_test(pairs, 0) < self._limit)

    @property
    def _limit(self) -> float:
        return (1 - CONFIDENCE) / (self.tests * len(self.rows))


@dataclass(frozen=True, kw_only=True)
class Pairs(Generic[Row]):
    """Runs and their twins. Runs whose row is not among ``rows`` are twins only. ``tests``: made for each row."""

    name: str
    rows: Collection[Row]
    runs: Sequence[PairedRun[Row]]
    tests: int

    @property
    def experiment(self) -> Experiment[PairedRun[Row]]:
        """The experiment that makes all runs, twins among them."""
        return Experiment(
            verb="ablate",
            name=self.name,
            measure=methodcaller("measure"),
            tasks=[RunTask(run.setting, run.seed, run) for run in self.runs],
            decided_by=("twins",),
        )

    def compared(self, done: AllRuns) -> PairedStudy[Row]:
        """Compare each run with its twin; one whose twin is missing does not count."""
        found = {row: RowResult() for row in self.rows}
        for run in self.runs:
            key, twin = (run.setting, run.seed), (run.twin.setting, run.seed)
            if run.row not in found:
                continue
            if key in done.results and twin in done.results:
                measured, beside = done.results[key], done.results[twin]
                found[run.row].add(measured, beside, conditions=run.conditions, seed=run.seed)
            elif (problem := done.failures.get(key) or done.failures.get(twin)) is not None:
                found[run.row].problems[run.seed] = problem
        return PairedStudy(rows=found, tests=self.tests)
