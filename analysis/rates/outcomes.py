"""Outcomes of single runs, and their means over the runs of one kind."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.objectives import CASES, COMMANDS, ERROR_RATE, UNAVAILABLE, Figure, TimedOperation
from zonelab.analysis.rates.samples import Sample
from zonelab.analysis.rates.year import NO_FAULT, RunKind
from zonelab.analysis.statistics import dependence_block_length

UNCONFIRMED = -1
"""Instead of a time: the operation was not confirmed, so it counts as slower than any bound."""

_DEPENDENCE_RUNS = 50


def _count(run: Observation, name: str) -> float:
    """Return the cases of what figures call ``name``; the pushes that were not confirmed; or the commands, or the
    seconds without service.
    """
    if name in (UNAVAILABLE, COMMANDS):
        return run.numbers.get(name, 0.0)
    if name == ERROR_RATE:
        return run.samples.get(TimedOperation.PUSH, ()).count(UNCONFIRMED)
    return sum(run.counts.get(one, 0) for one in CASES[name])


def times_s(run: Observation, operation: TimedOperation) -> NDArray[np.float64]:
    """Return the times of ``run`` in the order in which operations began; infinite where one was not confirmed."""
    times_us = np.asarray(run.samples.get(operation, ()), dtype=np.float64)
    return np.where(times_us == UNCONFIRMED, np.inf, times_us / 1e6)


_THINNED_BY, _SHORTENED_BY = "thinned_by", "shortened_by"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunScale:
    """Size of the load that a run stands for: so many times larger, and it lasts so many times longer."""

    thinned_by: float = 1.0
    shortened_by: float = 1.0

    @classmethod
    def of(cls, run: Observation) -> Self:
        return cls(
            thinned_by=run.numbers.get(_THINNED_BY, 1.0),
            shortened_by=run.numbers.get(_SHORTENED_BY, 1.0),
        )

    def cases(self, name: str = "") -> float:
        """Return how many of the load one case of the run is; a larger load has no more seconds without service."""
        return self.shortened_by * (1.0 if name == UNAVAILABLE else self.thinned_by)

    def numbers(self) -> dict[str, float]:
        """Return what an observation has of it beside its own: nothing if the run stands for itself."""
        every = {_THINNED_BY: self.thinned_by, _SHORTENED_BY: self.shortened_by}
        return {name: value for name, value in every.items() if value != 1}


Runs = Mapping[int, Observation]
"""By seed."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes of one setting. Results are cached, so nothing may be added to ``runs`` afterwards."""

    runs: Mapping[RunKind, Runs]
    _kept: dict[object, Sample] = field(default_factory=dict, compare=False)
    _lengths: dict[tuple[RunKind, TimedOperation], int] = field(default_factory=dict, compare=False)

    def counted(self, cell: RunKind, name: str) -> Sample:
        """Cases a run, seconds without service a run, or commands a run."""
        return self._once((cell, name), lambda: _scaled(self._of(cell), lambda run: _count(run, name), name))

    def messages(self, cell: RunKind) -> Sample:
        return self._once((cell, "messages"), lambda: _scaled(self._of(cell), lambda run: run.begun))

    def took(self, cell: RunKind, operation: TimedOperation) -> Sample:
        """Return the sum of the times of a run's confirmed operations, in s; units as those of ``slower``."""
        return self._once(
            (cell, operation, "took"),
            lambda: Sample.of([pieces * _confirmed(times).sum() for times, pieces in self._units(cell, operation)]),
        )

    def confirmed(self, cell: RunKind, operation: TimedOperation) -> Sample:
        """Return how many of them a run has that were confirmed."""
        return self._once(
            (cell, operation, "confirmed"),
            lambda: _scaled(self._of(cell), lambda run: _confirmed(times_s(run, operation)).size),
        )

    def operations(self, cell: RunKind, operation: TimedOperation) -> Sample:
        """Return how many of them a run has."""
        return self._once((cell, operation), lambda: _scaled(self._of(cell), lambda run: times_s(run, operation).size))

    def slower(self, cell: RunKind, operation: TimedOperation, bounds_s: ArrayLike) -> Sample:
        """Return how many operations a run has that take longer than each bound.

        With a fault the unit is the run. Without one it is a block of a run, as long as neighbours depend on each
        other, and its count is scaled to a whole run.
        """
        bounds = np.asarray(bounds_s, dtype=np.float64)
        return self._once(
            (cell, operation, bounds.tobytes()),
            lambda: _slower(list(self._units(cell, operation)), np.atleast_1d(bounds)),
        )

    def calm_clump(self, name: str) -> float:
        """Return how many cases come together without a fault."""
        return 0.0 if self.calm_kind is None else float(self.counted(self.calm_kind, name).clump)

    def calm_mean(self, number: str) -> float | None:
        """Return a measure of runs without a fault, a message; None if none of them has it."""
        runs = [] if self.calm_kind is None else self._of(self.calm_kind)
        whole = sum(run.numbers.get(number, 0.0) for run in runs)
        return whole / sum(run.begun for run in runs) if whole else None

    @property
    def calm_kind(self) -> RunKind | None:
        """Return the least thinned kind without a fault of which there are runs."""
        calm = [cell for cell, by_seed in self.runs.items() if cell.fault is None and by_seed]
        return min(calm, key=lambda cell: cell.thinning, default=None)

    def block_length(self, operation: TimedOperation, cell: RunKind = NO_FAULT) -> int:
        """Return the block length of operations without a fault; chosen on the first runs, one after the other."""
        if (cell, operation) not in self._lengths:
            series = [times_s(run, operation) for run in self._of(cell)[:_DEPENDENCE_RUNS]]
            joined = np.concatenate([np.empty(0), *series])
            self._lengths[cell, operation] = dependence_block_length(joined) if joined.size else 1
        return self._lengths[cell, operation]

    def has(self, operation: TimedOperation) -> bool:
        """Return whether any run has one, confirmed or not."""
        return any(run.samples.get(operation) for cell in self.runs for run in self._of(cell))

    def total(self, name: str, fault: str | None) -> int:
        """Cases in all runs, or in those with a class of faults."""
        return round(sum(_count(run, name) for run in self._with(fault)))

    def calm(self, name: str) -> tuple[int, int]:
        """Return the cases in runs without a fault, and how many messages these push."""
        runs = [] if self.calm_kind is None else self._of(self.calm_kind)
        return round(sum(_count(run, name) for run in runs)), sum(run.begun for run in runs)

    def size(self, fault: str | None) -> tuple[int, int]:
        """Return how many runs there are, or runs with a class of faults, and how many messages they push."""
        runs = self._with(fault)
        return len(runs), sum(run.begun for run in runs)

    def pooled(self, operation: TimedOperation) -> NDArray[np.float64]:
        """All confirmed times, in order."""
        every = [times_s(run, operation) for cell in self.runs for run in self._of(cell)]
        joined = np.concatenate([np.empty(0), *every])
        return np.sort(_confirmed(joined))

    def of_run(self, cell: RunKind, figure: Figure, bound_s: float) -> dict[int, float]:
        """By seed: cases of ``figure``, operations slower than the bound, or their seconds; for pairs of settings."""
        slow = figure.operation
        if slow is None:
            return {seed: _count(run, figure.name) for seed, run in self.runs.get(cell, {}).items()}
        if figure.is_mean:
            return {seed: float(_confirmed(times_s(run, slow)).sum()) for seed, run in self.runs.get(cell, {}).items()}
        return {seed: float((times_s(run, slow) > bound_s).sum()) for seed, run in self.runs.get(cell, {}).items()}

    def _with(self, fault: str | None) -> list[Observation]:
        return [run for cell in self.runs for run in self._of(cell) if fault in (None, cell.fault)]

    def _of(self, cell: RunKind) -> list[Observation]:
        return [run for _, run in sorted(self.runs.get(cell, {}).items())]

    def _units(self, cell: RunKind, operation: TimedOperation) -> Iterator[tuple[NDArray[np.float64], float]]:
        """Yield the times in s of each unit, a run or a block of it, and how many times each counts in its load."""
        length = self.block_length(operation, cell) if cell.fault is None else 0
        for run in self._of(cell):
            times = times_s(run, operation)
            pieces = max(1, times.size // length) if length else 1
            for piece in np.array_split(times, pieces):
                yield piece, pieces * RunScale.of(run).cases()

    def _once(self, key: object, make: Callable[[], Sample]) -> Sample:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def _scaled(runs: list[Observation], value: Callable[[Observation], float], name: str = "") -> Sample:
    """Return what the load shows that ``runs`` stand for; one case of a run counts as many."""
    counts = [value(run) * RunScale.of(run).cases(name) for run in runs]
    return Sample.of(counts, grain=max((RunScale.of(run).cases(name) for run in runs), default=1.0))


def _confirmed(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return times[np.isfinite(times)]


def _slower(units: list[tuple[NDArray[np.float64], float]], bounds: NDArray[np.float64]) -> Sample:
    return Sample.of(_counts(units, bounds), grain=max((pieces for _, pieces in units), default=1))


def _counts(units: list[tuple[NDArray[np.float64], float]], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values above each bound, a row a unit, a column a bound. The bounds are in order."""
    if not units:
        return np.zeros((0, bounds.size))
    values = np.concatenate([times for times, _ in units])
    unit = np.repeat(np.arange(len(units)), [times.size for times, _ in units])
    columns = bounds.size + 1
    place = unit * columns + np.searchsorted(bounds, values, side="left")
    counts = np.bincount(place, minlength=len(units) * columns).reshape(len(units), columns)
    above = counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return above * np.array([[pieces] for _, pieces in units], dtype=np.float64)
