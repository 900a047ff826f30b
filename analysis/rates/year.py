"""Rates of a year with faults, and of one fault, as weighted sums of what short runs show.

Every run has the same load for ``run_s``; it has no fault, or one of one class for one of three lengths. What a run
shows of a fault that lasts L is ``edge + steady * L``, beside what it would show anyhow while no fault is there; the
line goes through the shortest and the longest, and the third length tests it. So a year is linear in the mean of each
kind of run, and other rates or durations of faults need no new runs:

    year = sum of events * (edge + steady * duration) + the rest of the year * rate without faults
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from zonelab.analysis.rates.objectives import YEAR_S

FAULTY_PART_MAX = 0.5
"""Largest part of a year under faults; beyond it there is little to compare faults with."""


@dataclass(frozen=True, slots=True, order=True)
class RunKind:
    """A kind of run: without a fault, or with the one of the class ``fault`` for ``length_s``."""

    fault: str | None = None
    length_s: float = 0.0

    def __str__(self) -> str:
        return "no fault" if self.fault is None else f"{self.fault} for {self.length_s:g} s"


NO_FAULT = RunKind()

Weights = Mapping[RunKind, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class YearlyFaults:
    """``lengths_s``: of the simulated faults, the shortest, the one that tests the line, and the longest."""

    name: str
    per_year: float
    lasts_s: float
    lengths_s: tuple[float, float, float]

    @property
    def cells(self) -> tuple[RunKind, RunKind, RunKind]:
        short, middle, long = self.lengths_s
        return RunKind(self.name, short), RunKind(self.name, middle), RunKind(self.name, long)


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearRate:
    """The event of one class, by the line through two lengths. ``contrast``: its mean is 0 if the line fits.

    ``other``: by the line through the two longer lengths. ``steady``: what it costs a second; ``flat``: the event if
    that is nothing; ``edges``: what it costs beside its time.
    """

    weights: Weights
    other: Weights
    contrast: Weights
    steady: Weights
    flat: Weights
    edges: Weights


@dataclass(frozen=True, kw_only=True, slots=True)
class Year:
    """``run_s``: how long the load of a run lasts, in seconds as everything here."""

    run_s: float
    faults: tuple[YearlyFaults, ...]

    @property
    def cells(self) -> tuple[RunKind, ...]:
        return NO_FAULT, *(cell for one in self.faults for cell in one.cells)

    @property
    def faulty_s(self) -> float:
        return sum(one.per_year * one.lasts_s for one in self.faults)

    def fault(self, name: str) -> YearlyFaults:
        return next(one for one in self.faults if one.name == name)

    def with_fault(self, changed: YearlyFaults) -> Self:
        """With ``changed`` in place of the class of its name."""
        return replace(self, faults=tuple(changed if one.name == changed.name else one for one in self.faults))

    def weights(self, condition: str | None = None) -> Weights:
        """Return how often each kind of run counts in a year; with a ``condition``, in one event of that class of
        faults.
        """
        if condition is not None:
            return self.line(self.fault(condition)).weights
        found = {NO_FAULT: (YEAR_S - self.faulty_s) / self.run_s}
        for one in self.faults:
            for cell, weight in self.line(one).weights.items():
                found[cell] = found.get(cell, 0.0) + one.per_year * weight
        return found

    def line(self, fault: YearlyFaults) -> LinearRate:
        """The cost of ``fault`` as weights of the means of runs with a short, a middle and a long one."""
        (short_s, middle_s, long_s), (short, middle, long) = fault.lengths_s, fault.cells
        share = (fault.lasts_s - short_s) / (long_s - short_s)
        later = (fault.lasts_s - middle_s) / (long_s - middle_s)
        # A run has run_s of load, of which all but the fault is as without one.
        rest = {NO_FAULT: (fault.lasts_s - self.run_s) / self.run_s}
        towards = (middle_s - short_s) / (long_s - short_s)
        return LinearRate(
            weights={**rest, short: 1 - share, long: share},
            other={**rest, middle: 1 - later, long: later},
            contrast={short: towards - 1, middle: 1.0, long: -towards},
            steady={NO_FAULT: 1 / self.run_s, short: -1 / (long_s - short_s), long: 1 / (long_s - short_s)},
            flat={
                NO_FAULT: sum(fault.lengths_s) / 3 / self.run_s - 1,
                **dict.fromkeys(fault.cells, 1 / 3),
            },
            edges={NO_FAULT: -1.0, short: long_s / (long_s - short_s), long: -short_s / (long_s - short_s)},
        )

    def lines(self, condition: str | None = None) -> list[tuple[float, LinearRate]]:
        """Those that the year, or an event, is made of, and how often."""
        if condition is not None:
            return [(1.0, self.line(self.fault(condition)))]
        return [(one.per_year, self.line(one)) for one in self.faults if one.per_year]
