"""Evaluations whose truth is known: drawn runs with clustered faults, which pass the door of real ones."""

from dataclasses import dataclass

import numpy as np

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import LOOKS_MAX, ObjectiveStatus, error_at, judge
from zonelab.analysis.rates.figures import rates_of
from zonelab.analysis.rates.objectives import YEAR_S, Figure, Objective
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.year import NO_FAULT, RunKind, Year, YearlyFaults

RUN_S = 10.0
MESSAGES = 100
FIGURE = Figure.parsed("redelivered")
CASES_FEW = 5


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Of one class of faults: a run is hit with ``chance`` at its edges, and ``steady`` times a second in between.

    Each hit makes ``clump`` cases on average.
    """

    chance: float
    steady: float
    clump: float


@dataclass(frozen=True, kw_only=True)
class Model:
    year: Year
    faults: dict[str, Truth]
    steady: float
    """Cases a second without a fault; each comes by itself."""

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Model":
        names = [f"fault {number}" for number in range(rng.integers(1, 4))]
        classes = tuple(
            YearlyFaults(
                name=name,
                per_year=float(rng.uniform(1e4, 2e5)),
                lasts_s=float(rng.uniform(2, 20)),
                lengths_s=(1.0, 2.0, 4.0),
            )
            for name in names
        )
        truths = {
            name: Truth(
                chance=float(rng.choice([0.0, 0.05, 0.3, 0.7])),
                steady=float(rng.choice([0.0, 0.02, 0.2])),
                clump=float(rng.choice([2, 5, 15])),
            )
            for name in names
        }
        return cls(
            year=Year(run_s=RUN_S, faults=classes), faults=truths, steady=float(rng.choice([0, 0.0005, 0.005, 0.02]))
        )

    def run(self, cell: RunKind, rng: np.random.Generator) -> Observation:
        cases = int(rng.poisson(self.steady * (RUN_S - cell.length_s)))
        if cell.fault is not None:
            truth = self.faults[cell.fault]
            hits = int(rng.random() < truth.chance) + int(rng.poisson(truth.steady * cell.length_s))
            cases += hits + int(rng.poisson(hits * (truth.clump - 1)))
        return Observation(begun=MESSAGES, counts={"redelivered": cases})

    def mean(self, cell: RunKind) -> float:
        """Return the mean number of cases of one run."""
        calm = self.steady * (RUN_S - cell.length_s)
        if cell.fault is None:
            return calm
        truth = self.faults[cell.fault]
        return calm + truth.clump * (truth.chance + truth.steady * cell.length_s)

    def variance(self, cell: RunKind) -> float:
        """Return the variance of the number of cases of one run."""
        if cell.fault is None:
            return self.steady * RUN_S
        truth, square = self.faults[cell.fault], self.faults[cell.fault].clump - 1 + self.faults[cell.fault].clump ** 2
        edge = truth.chance * square - (truth.chance * truth.clump) ** 2
        return self.steady * (RUN_S - cell.length_s) + edge + truth.steady * cell.length_s * square

    @property
    def rate(self) -> float:
        """Cases a message of the year, by arithmetic."""
        of_faults = sum(
            one.per_year * truth.clump * (truth.chance + truth.steady * one.lasts_s)
            for one, truth in ((one, self.faults[one.name]) for one in self.year.faults)
        )
        return (of_faults + self.steady * (YEAR_S - self.year.faulty_s)) / (MESSAGES / RUN_S * YEAR_S)


@dataclass(frozen=True, kw_only=True)
class Covered:
    """The truth is in the interval; in that of one who takes messages for units; widths, an oracle's too.

    ``below_upper``: whether the truth is below the upper end; None where fewer than five cases are expected.
    ``wrongly_met``: the objective is called met, and the truth is above its bound.
    """

    truth_inside: bool
    below_upper: bool | None
    wrongly_met: bool
    by_message: bool
    width: float
    oracle_width: float


def evaluated(rng: np.random.Generator, *, runs: int = 40) -> Covered:
    """One evaluation with up to five looks, that ends when its objective is decided. ``runs``: a look, of each kind."""
    model = Model.drawn(rng)
    objective = Objective(FIGURE, max(model.rate, 1e-6) * float(rng.choice([0.5, 0.9, 1.0, 1.1, 2.0])))
    drawn: dict[RunKind, dict[int, Observation]] = {cell: {} for cell in model.year.cells}
    for look in range(1, LOOKS_MAX + 1):
        for cell, by_seed in drawn.items():
            wanted = look * runs * (4 if cell == NO_FAULT else 1)
            by_seed |= {seed: model.run(cell, rng) for seed in range(len(by_seed), wanted)}
        outcomes = Outcomes({cell: dict(by_seed) for cell, by_seed in drawn.items()})
        measured = rates_of({"": outcomes}, model.year)[""]
        judged = judge(measured, objective, error=error_at(look, LOOKS_MAX))
        if not judged.is_open:
            break
    weights, size = model.year.weights(), MESSAGES / RUN_S * YEAR_S
    counts = {cell: [run.counts["redelivered"] for run in drawn[cell].values()] for cell in weights}
    plain = sum(weight**2 * float(np.mean(counts[cell])) / len(counts[cell]) for cell, weight in weights.items())
    known = sum(weight**2 * model.variance(cell) / len(counts[cell]) for cell, weight in weights.items())
    expected = sum(model.mean(cell) * len(counts[cell]) for cell in weights)
    value, low, high = (float(end) for end in (judged.value.value, judged.value.low, judged.value.high))
    return Covered(
        truth_inside=low <= model.rate <= high,
        below_upper=model.rate <= high if expected >= CASES_FEW else None,
        wrongly_met=judged.status is ObjectiveStatus.MET and model.rate >= objective.bound,
        by_message=abs(value - model.rate) <= 1.96 * plain**0.5 / size,
        width=high - low,
        oracle_width=2 * 1.96 * known**0.5 / size,
    )
