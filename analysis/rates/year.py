"""Rates of a year with faults, and of one fault, as weighted sums of what short runs show.

A run has no fault, or one of one class for one of its lengths, and load before, during and after it. What it shows of
a fault that lasts L is ``edge + steady * L``, beside what it would show anyhow while no fault is there; the line goes
through the shortest and the longest length, and the third tests it. So a year is linear in the mean of each kind of
run, and other rates or durations of faults need no new runs:

    year = sum of events * (edge + steady * duration) + the rest of the year * rate without faults

Where the longest is as long as the fault really is, the runs with it are the event, and the line serves other
durations only. Faults of two classes may overlap in a year: what they cost is added, as if each came alone.

Runs of a thinned class show fewer losses than the load has, with the fault and without it. So what they show without
it is taken from runs that are thinned alike, and what the least thinned runs show in so much time is added.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from zonelab.analysis.rates.input_range import InputRange
from zonelab.analysis.rates.objectives import YEAR_S

FAULTY_PART_MAX = 0.5
"""Largest part of a year under faults; beyond it there is little to compare faults with."""


@dataclass(frozen=True, slots=True, order=True)
class RunKind:
    """A kind of run: without a fault, or with the one of the class ``fault`` for ``length_s``.

    ``thinning``: by what arrivals and consumers are divided.
    """

    fault: str | None = None
    length_s: float = 0.0
    thinning: int = 1

    def __str__(self) -> str:
        kind = "no fault" if self.fault is None else f"{self.fault} for {self.length_s:g} s"
        return kind if self.thinning == 1 else f"{kind}, thinned by {self.thinning}"


NO_FAULT = RunKind()

Weights = Mapping[RunKind, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class YearlyFaults:
    """``lengths_s``: of the simulated faults, each longer than the one before.

    Three: the shortest, the one that tests the line, and the longest. Two: a short one, and the fault as long as it
    really is. One: it has no other length, as each of its parts has a length of its own.

    ``loads_s``: of the load of the run of each length; empty if each is that of a run without a fault.

    ``per_year_span``, ``lasts_span``: where these are known to be, if only their ends are.

    ``passes``: times of the scenario that no simulated fault reaches and the real one does, in words; empty if none.
    """

    name: str
    per_year: float
    lasts_s: float
    lengths_s: tuple[float, ...]
    loads_s: tuple[float, ...] = ()
    thinning: int = 1
    per_year_span: InputRange | None = None
    lasts_span: InputRange | None = None
    passes: str = ""

    @property
    def ends(self) -> tuple[Self, ...]:
        """Return the class at the low ends of what is known of it, and at the high ones; itself if all is known."""
        spans = {"per_year": self.per_year_span, "lasts_s": self.lasts_span}
        ranged = {name: span for name, span in spans.items() if span is not None and not span.is_known}
        if not ranged:
            return (self,)
        known: dict[str, Any] = {"per_year_span": None, "lasts_span": None}
        return tuple(
            replace(self, **{name: getattr(span, end) for name, span in ranged.items()}, **known)
            for end in ("low", "high")
        )

    @property
    def cells(self) -> tuple[RunKind, ...]:
        return tuple(RunKind(self.name, length_s, self.thinning) for length_s in self.lengths_s)

    @property
    def has_line(self) -> bool:
        """Return whether it can be shorter or longer."""
        return len(self.lengths_s) > 1


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearRate:
    """The event of one class, by the line through two lengths. ``contrast``: its mean is 0 if the line fits.

    ``other``: by the line through the two longer lengths. ``steady``: what it costs a second; ``edges``: what it costs
    beside its time. ``flat``: the event if a longer one costs no more, of two lengths with what lies between them.
    ``other`` and ``contrast`` are empty without a third length, ``steady`` without a second one.
    """

    weights: Weights
    other: Weights
    contrast: Weights
    steady: Weights
    flat: Weights
    edges: Weights


@dataclass(frozen=True, kw_only=True, slots=True)
class Year:
    """``run_s``: how long the load of a run without a fault lasts, in seconds as everything here.

    ``span_s``: of another time than a year, in which ``per_year`` of each class is how many there are.
    ``calm_load_s``: by thinning, of the load of another run without a fault; ``run_s`` if it is not there.
    ``compared``: by thinning, the lesser one whose runs without a fault are run beside, to compare what both show.
    ``calm``: the kind of runs without a fault that show the rest of the year: the least thinned that there is.
    """

    run_s: float
    faults: tuple[YearlyFaults, ...]
    span_s: float = YEAR_S
    calm_load_s: Mapping[int, float] = field(default_factory=dict)
    calm: RunKind = NO_FAULT
    compared: Mapping[int, int] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[RunKind, ...]:
        return self.calm, *self.thinned_calm, *(cell for one in self.faults for cell in one.cells)

    @property
    def thinned_calm(self) -> tuple[RunKind, ...]:
        """The kinds without a fault that are thinned as classes of faults are, or compared with these, the most thinned
        first, without ``calm``.
        """
        thinnings = {one.thinning for one in self.faults} | set(self.compared.values())
        thinnings -= {self.calm.thinning}
        return tuple(RunKind(thinning=one) for one in sorted(thinnings, reverse=True))

    @property
    def faulty_s(self) -> float:
        return sum(one.per_year * one.lasts_s for one in self.faults)

    @property
    def ends(self) -> tuple[Self, ...]:
        """Return the year with every class at its low ends, and at its high ones; itself if all is known."""
        if all(len(one.ends) == 1 for one in self.faults):
            return (self,)
        return tuple(replace(self, faults=tuple(one.ends[place] for one in self.faults)) for place in (0, -1))

    def fault(self, name: str) -> YearlyFaults:
        return next(one for one in self.faults if one.name == name)

    def load_s(self, cell: RunKind) -> float:
        """Return how many seconds of load a run of this kind has."""
        if cell.fault is None:
            return self.run_s if cell == self.calm else self.calm_load_s.get(cell.thinning, self.run_s)
        fault = self.fault(cell.fault)
        return dict(zip(fault.lengths_s, fault.loads_s, strict=False)).get(cell.length_s, self.run_s)

    def less_thinned(self, calm: RunKind) -> RunKind | None:
        """Return the kind that is compared with ``calm``, which is without a fault; None if there is none."""
        return RunKind(thinning=self.compared[calm.thinning]) if calm.thinning in self.compared else None

    def on_calm(self, calm: RunKind) -> Self:
        """Return the year whose rest another kind without a fault shows, as there are no runs of ``self.calm``."""
        loads_s = {**self.calm_load_s, self.calm.thinning: self.run_s}
        return replace(self, calm=calm, run_s=self.load_s(calm), calm_load_s=loads_s)

    def with_fault(self, changed: YearlyFaults) -> Self:
        """With ``changed`` in place of the class of its name."""
        return replace(self, faults=tuple(changed if one.name == changed.name else one for one in self.faults))

    def weights(self, condition: str | None = None) -> Weights:
        """Return how often each kind of run counts in a year; with a ``condition``, in one event of that class of
        faults.
        """
        if condition is not None:
            return self.line(self.fault(condition)).weights
        found = {self.calm: (self.span_s - self.faulty_s) / self.run_s}
        for one in self.faults:
            for cell, weight in self.line(one).weights.items():
                found[cell] = found.get(cell, 0.0) + one.per_year * weight
        return found

    def line(self, fault: YearlyFaults) -> LinearRate:
        """The cost of ``fault`` as weights of the means of runs with a short, perhaps a middle, and a long one."""
        if not fault.has_line:
            (only,) = fault.cells
            whole = self._beside({only: 1.0})
            return LinearRate(weights=whole, other={}, contrast={}, steady={}, flat=whole, edges=whole)
        short, *between, long = fault.cells
        short_s, long_s = short.length_s, long.length_s
        share = (fault.lasts_s - short_s) / (long_s - short_s)
        other, contrast = dict[RunKind, float](), dict[RunKind, float]()
        for middle in between:
            later = (fault.lasts_s - middle.length_s) / (long_s - middle.length_s)
            towards = (middle.length_s - short_s) / (long_s - short_s)
            other |= self._beside({middle: 1 - later, long: later})
            contrast |= self._beside({short: towards - 1, middle: 1.0, long: -towards})
        weights = self._beside({short: 1 - share, long: share})
        held = min(max(share, 0.0), 1.0)
        mean = dict.fromkeys(fault.cells, 1 / len(fault.cells))
        return LinearRate(
            weights=weights,
            other=other,
            contrast=contrast,
            steady=self._beside({short: -1 / (long_s - short_s), long: 1 / (long_s - short_s)}),
            flat=self._beside(mean if between and share != 1 else {short: 1 - held, long: held}),
            edges=self._beside({short: long_s / (long_s - short_s), long: -short_s / (long_s - short_s)}),
        )

    def _beside(self, weights: Weights) -> Weights:
        """``weights`` of runs with a fault, less what these runs show of the time before and after it.

        Of thinned runs that is less all that runs show that are thinned alike, and the time of the fault as it is shown
        by the least thinned ones.
        """
        found, fault_s = {self.calm: 0.0}, 0.0
        for cell, weight in weights.items():
            calm = RunKind(thinning=cell.thinning)
            found[calm] = found.get(calm, 0.0) - weight * self.load_s(cell) / self.load_s(calm)
            fault_s += weight * cell.length_s
        found[self.calm] += fault_s / self.run_s
        return {**found, **weights}

    def lines(self, condition: str | None = None) -> list[tuple[float, LinearRate]]:
        """Those that the year, or an event, is made of, and how often."""
        if condition is not None:
            return [(1.0, self.line(self.fault(condition)))]
        return [(one.per_year, self.line(one)) for one in self.faults if one.per_year]
