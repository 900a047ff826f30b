"""Studies of twins: each run is compared with one of the same seed that differs from it in what is studied alone.

Load, faults and lags of twins are equal, and a sign test over all pairs tells an effect from chance, also under faults
that break things anyway.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import methodcaller
from typing import Generic, Protocol, Self, TypeVar

from scipy import special

from zonelab.analysis.observation import Observation
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
    """The runs of one row beside their twins.

    ``failing``: runs by violated class and conditions. ``numbers`` and ``twin_numbers``: sums. ``more`` and ``fewer``:
    pairs by the class or number that the run has more of, or less, than its twin.
    """

    runs: int = 0
    failed_runs: int = 0
    failed_twins: int = 0
    failing: dict[str, dict[Conditions, int]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    twin_numbers: dict[str, float] = field(default_factory=dict)
    more: dict[str, int] = field(default_factory=dict)
    fewer: dict[str, int] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)

    def add(self, measured: Observation, twin: Observation, *, conditions: Conditions, seed: int) -> None:
        """Count a run and its twin, which has the same seed and has all mechanisms."""
        self.runs += 1
        self.failed_runs += bool(measured.counts)
        self.failed_twins += bool(twin.counts)
        for name in measured.counts:
            _add(self.failing.setdefault(name, {}), {conditions: 1})
        _add(self.numbers, measured.numbers)
        _add(self.twin_numbers, twin.numbers)
        for mine, theirs in ((measured.counts, twin.counts), (measured.numbers, twin.numbers)):
            for name in mine.keys() | theirs.keys():
                difference = mine.get(name, 0) - theirs.get(name, 0)
                if difference:
                    _add(self.more if difference > 0 else self.fewer, {name: 1})
        if measured.problem is not None:
            self.problems[seed] = measured.problem

    def failing_runs(self, name: str) -> int:
        return sum(self.failing.get(name, {}).values())

    def mean(self, name: str) -> tuple[float, float]:
        """Return the means of a run and of a twin."""
        runs = max(1, self.runs)
        return self.numbers.get(name, 0.0) / runs, self.twin_numbers.get(name, 0.0) / runs


Key = TypeVar("Key")
Number = TypeVar("Number", int, float)


def _add(sums: dict[Key, Number], further: Mapping[Key, Number]) -> None:
    for name, number in further.items():
        sums[name] = sums.get(name, 0) + number


def sign_test(more: int, fewer: int) -> float:
    """The chance of so many pairs, or more, in which one twin has more, if the two did not differ (one-sided)."""
    return float(special.bdtrc(more - 1, more + fewer, 0.5)) if more else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedStudy(Generic[Row]):
    """The results by row. ``tests``: sign tests made for each of them."""

    rows: Mapping[Row, RowResult]
    tests: int

    def more(self, row: Row, names: Iterable[Name]) -> tuple[Name, ...]:
        """Return what the runs of ``row`` have more of than their twins, oftener than chance explains."""
        return self._beyond_chance(self.rows[row].more, self.rows[row].fewer, names)

    def fewer(self, row: Row, names: Iterable[Name]) -> tuple[Name, ...]:
        """Return what they have less of."""
        return self._beyond_chance(self.rows[row].fewer, self.rows[row].more, names)

    @property
    def least_seeds(self) -> int:
        """With fewer seeds a row cannot show anything, even if all its pairs differ the same way."""
        return next(pairs for pairs in count(1) if sign_test(pairs, 0) < self._limit)

    @property
    def _limit(self) -> float:
        return (1 - CONFIDENCE) / (self.tests * len(self.rows))

    def _beyond_chance(
        self, side: Mapping[str, int], other: Mapping[str, int], names: Iterable[Name]
    ) -> tuple[Name, ...]:
        return tuple(name for name in names if sign_test(side.get(name, 0), other.get(name, 0)) < self._limit)


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
