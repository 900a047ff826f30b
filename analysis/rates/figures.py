"""Every figure of a setting, of a year or of one event: its value and its interval."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from zonelab.analysis.rates.objectives import CASES, COMMANDS, UNAVAILABLE, Figure, TimedOperation
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.samples import Estimate, Sample, WeightedSample, weighted_sum
from zonelab.analysis.rates.year import LinearRate, RunKind, Weights, Year

_TAILS = 200
"""Times at which a distribution is looked at."""

_ROUNDING = 1e-12
_NOTHING = 1e-300

DOUBT = 0.001
"""The line of a class of faults is given up if chance alone makes such a difference less often than this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NonlinearFaults:
    """A class of faults whose cases do not grow in a line: what the line says of the third length, and what it is."""

    fault: str
    figure: str
    line: float
    seen: float


@dataclass(frozen=True, slots=True)
class Tail:
    """All times of an operation in order, and those at which it is counted how many take longer.

    The latter are close together where few are longer.
    """

    times: NDArray[np.float64]
    grid: NDArray[np.float64]

    @classmethod
    def of(cls, times: NDArray[np.float64]) -> Self:
        """``times``: in order."""
        places = special.expit(np.linspace(-3, 14, _TAILS))
        picked = np.unique(np.minimum((places * times.size).astype(np.int64), max(0, times.size - 1)))
        return cls(times, np.unique(times[picked]) if times.size else times)

    def falls_to(self, rates: NDArray[np.float64], share: float) -> float:
        """The shortest time from which on at most ``share`` take longer; infinite if there is none.

        ``rates``: how many take longer than each of the grid; between two of these they fall as times come.
        """
        beyond = np.flatnonzero(rates > share * (1 + 1e-12))
        place = int(beyond[-1]) + 1 if beyond.size else 0
        if place == self.grid.size:
            return float("inf")
        if not place:
            return float(self.grid[0])
        above, below = rates[place - 1], rates[place]
        first = np.searchsorted(self.times, self.grid[place - 1], side="right")
        last = np.searchsorted(self.times, self.grid[place], side="left")
        return float(self.times[first + int((above - share) / (above - below) * (last - first))])


@dataclass(frozen=True, slots=True)
class SettingRates:
    """One setting in one year. ``outcomes`` stay what they are; the year may be another.

    ``calm_clumps``: by name of a figure, how many cases come together without a fault, in the setting with most.
    """

    outcomes: Outcomes
    year: Year
    _tails: dict[TimedOperation, Tail] = field(default_factory=dict, compare=False)
    _means: dict[Figure, tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=dict, compare=False)
    calm_clumps: Mapping[str, float] = field(default_factory=dict, compare=False)

    def on(self, year: Year) -> "SettingRates":
        """The same runs in a year with other rates or durations of the same faults."""
        return SettingRates(self.outcomes, year, self._tails, self._means, self.calm_clumps)

    def estimate(self, figure: Figure, condition: str | None = None) -> float:
        """``value`` without its interval, which takes a hundred times as long."""
        tail = self.tail_of(figure)
        grid = np.zeros(1) if tail is None else tail.grid
        if figure not in self._means:
            cells = self.year.cells
            means = [np.atleast_1d(self._sample(figure, grid, cell).mean) for cell in cells]
            self._means[figure] = np.stack(means), np.array([float(self._size_of(figure, one).mean) for one in cells])
        means_of_cells, sizes = self._means[figure]
        weights = self.weights(figure, condition)
        size = 1.0 if _is_whole(figure) else max(float(self._vector(weights) @ sizes), _NOTHING)
        if figure.is_mean and not sizes.any():
            return float("inf")
        rates = self._value(weights, condition, lambda chosen: self._vector(chosen) @ means_of_cells) / size
        return float(rates[0]) if tail is None else tail.falls_to(rates, 1 - (figure.percentile or 0.0))

    def value(self, figure: Figure, condition: str | None = None, *, confidence: float = 0.95) -> Estimate:
        """In seconds, or a message. Infinite if so many operations were not confirmed."""
        tail = self.tail_of(figure)
        if tail is None:
            return self.rate(figure, condition, confidence=confidence)
        if not tail.grid.size:
            return Estimate(*(np.array(end) for end in (np.inf, 0.0, np.inf)))
        rates = self.rate(figure, condition, at_s=tail.grid, confidence=confidence)
        ends = (tail.falls_to(rate, 1 - (figure.percentile or 0.0)) for rate in (rates.value, rates.low, rates.high))
        return Estimate(*map(np.asarray, ends))

    def rate(
        self,
        figure: Figure,
        condition: str | None = None,
        *,
        at_s: ArrayLike = 0.0,
        confidence: float = 0.95,
        unseen: bool = True,
    ) -> Estimate:
        """Cases a message or a year; the share of operations slower than ``at_s``, or the mean of their times in s,
        infinite if there is none; or seconds without service.

        ``unseen``: kinds of runs that show no case may have one nevertheless.
        """
        weights = self.weights(figure, condition)
        size = self._size(figure, weights)
        if figure.is_mean and size <= _NOTHING:
            return Estimate(*(np.array(end) for end in (np.inf, 0.0, np.inf)))
        parts = self.parts(figure, at_s, weights) if unseen else self._parts(figure, at_s, weights)
        sums = weighted_sum(parts, confidence=confidence)
        value = self._value(weights, condition, lambda chosen: self._sum(figure, at_s, chosen))
        low, high = sums.low, np.maximum(sums.high, value)
        for events, line in self.year.lines(condition):
            if not line.contrast:
                continue
            bent = self._bent(figure, at_s, line)
            if bent.any():
                fitted, other = (self._sum(figure, at_s, one) for one in (line.weights, line.other))
                moved = np.where(bent, value + events * (other - fitted), value)
                low, high = np.minimum(low, np.maximum(moved, 0.0)), np.maximum(high, moved)
        with np.errstate(over="ignore"):  # where no run has such an operation
            ends = [end / size for end in (value, low, high)]
        if condition is None and not figure.is_mean and (seen := self._without_unseen()) is not self:
            ends[1] = np.maximum(ends[1], seen.rate(figure, at_s=at_s, confidence=confidence).low)
        found = Estimate(*(ends if figure.percentile is None else [end.reshape(np.shape(at_s)) for end in ends]))
        return found.of_messages() if figure.is_part_of_messages else found

    def bent(self, figure: Figure, *, at_s: float = 0.0) -> list[NonlinearFaults]:
        """Return the classes in which the third length contradicts the line."""
        found = []
        for one in self.year.faults:
            line = self.year.line(one)
            if line.contrast and self._bent(figure, at_s, line).any():
                middle = one.cells[1]
                seen = float(np.ravel(self._sample(figure, at_s, middle).mean)[0])
                off = float(np.ravel(self._sum(figure, at_s, line.contrast))[0])
                found.append(NonlinearFaults(fault=one.name, figure=str(figure), line=seen - off, seen=seen))
        return found

    def is_thinned(self, figure: Figure, condition: str | None = None) -> bool:
        """Return whether it comes from thinned runs, too."""
        return any(cell.thinning > 1 for cell, weight in self.weights(figure, condition).items() if weight)

    def if_hidden(self, figure: Figure, condition: str | None, *, at_s: float, confidence: float) -> Estimate:
        """Return the share of operations slower than ``at_s`` if thinned runs hide all that they can.

        Every operation of those with a fault is then slower; what is left is shown by runs that are not thinned.
        """
        weights = self.weights(figure, condition)
        size, calm = self._size(figure, weights), self.year.calm
        a_second = float(self._size_of(figure, calm).mean) / self.year.run_s
        hidden = sum(
            weight * max(float(self._size_of(figure, cell).mean), a_second * self.year.load_s(cell))
            for cell, weight in weights.items()
            if cell.thinning > 1 and weight > 0
        )
        shown = {cell: weight for cell, weight in weights.items() if cell.thinning == 1}
        sums = weighted_sum(self.parts(figure, at_s, shown), confidence=confidence)
        return Estimate(*((np.ravel(end)[0] + hidden) / size for end in (sums.value, sums.low, sums.high)))

    def passes(self, condition: str | None = None) -> str:
        """Return which times of the scenario its faults reach, and no simulated one; empty if none."""
        classes = [one for one in self.year.faults if one.name == condition or (condition is None and one.per_year)]
        return " and ".join(dict.fromkeys(one.passes for one in classes if one.passes))

    def size(self, figure: Figure, condition: str | None) -> float:
        """Return what the cases are divided by: messages or operations; 1 for seconds and for cases a year."""
        return self._size(figure, self.weights(figure, condition))

    def tail_of(self, figure: Figure) -> Tail | None:
        """Return the distribution that a percentile is looked up in; None for what is a number by itself."""
        operation = figure.operation
        if operation is None or figure.percentile is None:
            return None
        if operation not in self._tails:
            self._tails[operation] = Tail.of(self.outcomes.pooled(operation))
        return self._tails[operation]

    def summed(self, figure: Figure, weights: Weights) -> Estimate:
        """Cases, not divided by messages, with their 95 % interval; ``weights`` of a part of an event, say."""
        return weighted_sum(self.parts(figure, 0.0, weights))

    def parts(self, figure: Figure, at_s: ArrayLike, weights: Weights) -> list[WeightedSample]:
        """Return what a figure is the sum of, each with the clump that is feared where it shows no case.

        That is the largest seen: without a fault of any setting, ``calm_clumps``; with faults of this one.
        """
        parts = self._parts(figure, at_s, weights)
        cells = list(weights)
        outages = [part.sample.clump for part, cell in zip(parts, cells, strict=True) if cell.fault and part.weight]
        calm: list[ArrayLike] = [self.calm_clumps.get(figure.name, 0.0)]

        def feared(cell: RunKind, sample: Sample) -> NDArray[np.float64]:
            least = self._case(figure) * sample.grain
            return reduce(np.maximum, [np.asarray(least), sample.clump, *(outages if cell.fault else calm)])

        return [replace(part, feared=feared(cell, part.sample)) for part, cell in zip(parts, cells, strict=True)]

    def dispersion(self, figure: Figure, *, at_s: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Return the variance of what all runs of the year together show, over its mean: 1 if cases come one by one."""
        weights = {cell: abs(weight) for cell, weight in self.year.weights().items() if weight}
        variance, mean = np.zeros(np.shape(at_s)), np.zeros(np.shape(at_s))
        for cell, weight in weights.items():
            sample = self._sample(figure, at_s, cell)
            variance = variance + weight * sample.variance.reshape(mean.shape) / sample.grain
            mean = mean + weight * sample.mean.reshape(mean.shape)
        return np.divide(variance, mean, out=np.zeros_like(mean), where=mean > 0)

    def spread(self, figure: Figure, condition: str | None, *, at_s: float) -> dict[RunKind, float]:
        """By kind of run, its part in the standard error of the rate if it were run once.

        Where n runs show no case, one more of them might have.
        """
        weights = self.weights(figure, condition)
        size = self._size(figure, weights)
        found = {}
        for cell, weight in weights.items():
            sample = self._sample(figure, at_s, cell)
            least = self._case(figure) ** 2 / max(sample.units, 1)
            found[cell] = float(abs(weight) * np.sqrt(max(sample.variance.max(initial=0.0), least)) / size)
        return found

    def lacking(self, figure: Figure, condition: str | None) -> tuple[str, ...]:
        """Return the classes of faults that ``figure`` takes into account and of which there is no run.

        With the length, if there are runs of the class with another one only.
        """
        weights, runs = self.weights(figure, condition), self.outcomes.runs
        found = [
            fault.name if not any(map(runs.get, fault.cells)) else str(cell)
            for fault in self.year.faults
            for cell in fault.cells
            if weights.get(cell) and not runs.get(cell)
        ]
        return tuple(dict.fromkeys(found))

    def weights(self, figure: Figure, condition: str | None) -> Weights:
        """Weights in ``figure``: of cases a year those of its faults only, without the rest of the year."""
        if not figure.a_year:
            return self.year.weights(condition)
        found: dict[RunKind, float] = {}
        for events, line in self.year.lines(condition):
            for cell, weight in line.weights.items():
                found[cell] = found.get(cell, 0.0) + events * weight
        return found

    def _without_unseen(self) -> "SettingRates":
        """Return the year without the classes of which there is no run: they cost nothing at least."""
        seen = [one for one in self.year.faults if any(self.outcomes.runs.get(cell) for cell in one.cells)]
        return self if len(seen) == len(self.year.faults) else self.on(replace(self.year, faults=tuple(seen)))

    def _value(
        self, weights: Weights, condition: str | None, sum_of: Callable[[Weights], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """The weighted sum; a fault that costs less the longer it lasts, which only chance can show, costs no time."""
        value = sum_of(weights)
        for events, line in self.year.lines(condition):
            lower = sum_of(line.steady) < -_ROUNDING
            value = value + events * np.where(lower, sum_of(line.flat) - sum_of(line.weights), 0.0)
        return np.maximum(value, 0.0)

    def _vector(self, weights: Weights) -> NDArray[np.float64]:
        return np.array([weights.get(cell, 0.0) for cell in self.year.cells])

    def _size(self, figure: Figure, weights: Weights) -> float:
        if _is_whole(figure):
            return 1.0
        total = sum(weight * float(self._size_of(figure, cell).mean) for cell, weight in weights.items())
        return max(total, _NOTHING)

    def _size_of(self, figure: Figure, cell: RunKind) -> Sample:
        if figure.operation is not None:
            count = self.outcomes.confirmed if figure.is_mean else self.outcomes.operations
            return count(cell, figure.operation)
        return self.outcomes.messages(cell)

    def _sample(self, figure: Figure, at_s: ArrayLike, cell: RunKind) -> Sample:
        if figure.operation is not None:
            if figure.is_mean:
                return self.outcomes.took(cell, figure.operation)
            return self.outcomes.slower(cell, figure.operation, at_s)
        return self.outcomes.counted(cell, figure.name)

    def _parts(self, figure: Figure, at_s: ArrayLike, weights: Weights) -> list[WeightedSample]:
        return [WeightedSample(self._sample(figure, at_s, cell), weight, 0.0) for cell, weight in weights.items()]

    def _sum(self, figure: Figure, at_s: ArrayLike, weights: Weights) -> NDArray[np.float64]:
        return np.asarray(sum(part.weight * part.sample.mean for part in self._parts(figure, at_s, weights)))

    def _bent(self, figure: Figure, at_s: ArrayLike, line: LinearRate) -> NDArray[np.bool_]:
        parts = self._parts(figure, at_s, line.contrast)
        units = min(part.sample.units for part in parts)
        off = np.asarray(self._sum(figure, at_s, line.contrast))
        if figure.name == COMMANDS or units < 2:
            return np.zeros(off.shape, dtype=bool)
        error = np.sqrt(sum(part.weight**2 * part.sample.variance / part.sample.units for part in parts))
        return np.asarray(np.abs(off) > special.stdtrit(units - 1, 1 - DOUBT / 2) * error + _ROUNDING)

    def _case(self, figure: Figure) -> float:
        """The least clump: one case; of seconds without service, one hundredth of a run; of a mean there is none."""
        if figure.is_mean:
            return 0.0
        return self.year.run_s / 100 if figure.name == UNAVAILABLE else 1.0


def _is_whole(figure: Figure) -> bool:
    """Return whether it is a sum by itself, which is divided by nothing."""
    return figure.name == UNAVAILABLE or figure.a_year


def rates_of(outcomes: Mapping[str, Outcomes], year: Year) -> dict[str, SettingRates]:
    """Return settings that were run for one evaluation: what they show without a fault bounds the clumps of each.

    The rest of the year of a setting without runs of ``year.calm`` is shown by its least thinned runs without a fault.
    """
    clumps = {name: max(one.calm_clump(name) for one in outcomes.values()) for name in CASES}
    return {name: SettingRates(one, _shown_by(one, year), calm_clumps=clumps) for name, one in outcomes.items()}


def _shown_by(outcomes: Outcomes, year: Year) -> Year:
    calm = outcomes.calm_kind
    return year if calm is None or calm == year.calm else year.on_calm(calm)
