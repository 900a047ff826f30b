"""Goal: what a stretch of time shows lies inside its prediction as often as was said, and what is unlike lies outside.

Method: drawn evaluations and drawn stretches of time of one truth; bounds that chance passes once in ten thousand.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Figure, TimedOperation
from zonelab.analysis.rates.outcomes import Outcomes, times_s
from zonelab.analysis.rates.prediction import predicted, quantile_s
from zonelab.analysis.rates.samples import Estimate
from zonelab.analysis.rates.year import NO_FAULT, RunKind, Year, YearlyFaults

DRAWN = 100
ERROR = 0.05

DOWN = YearlyFaults(name="down", per_year=0.0, lasts_s=2.0, lengths_s=(1.0, 2.0, 4.0))
WINDOW = Year(run_s=10.0, faults=(DOWN,), span_s=200.0)
P50, P99, DUPLICATES, UNAVAILABLE = map(Figure.parsed, ("p50(push)", "p99(push)", "duplicates", "unavailable"))
FIGURES = (P50, P99, DUPLICATES, UNAVAILABLE)


def run(rng: np.random.Generator, cell: RunKind, *, slow: float = 1.0, again: float = 0.02) -> Observation:
    """A hundred messages in 10 s; duplicates come three at a time; a fault delays what comes while it lasts."""
    times = rng.exponential(5_000 * slow, 100)
    times[: round(10 * cell.length_s)] += 50_000
    clumps = rng.poisson(100 * again / 3) + (2 if cell.fault else 0)
    return Observation(
        begun=100,
        counts={"redelivered": int(3 * clumps)},
        numbers={"unavailable": rng.exponential(0.5) * cell.length_s},
        samples={"push": np.rint(times).astype(int).tolist()},
    )


def rates(rng: np.random.Generator, year: Year) -> SettingRates:
    runs = {cell: {seed: run(rng, cell) for seed in range(30)} for cell in year.cells}
    return SettingRates(Outcomes(runs), year)


def seen(runs: list[Observation]) -> dict[Figure, float]:
    times = np.concatenate([times_s(one, TimedOperation.PUSH) for one in runs])
    return {
        P50: quantile_s(times, 0.5),
        P99: quantile_s(times, 0.99),
        DUPLICATES: sum(one.counts["redelivered"] for one in runs) / sum(one.begun for one in runs),
        UNAVAILABLE: sum(one.numbers["unavailable"] for one in runs),
    }


def predictions(rng: np.random.Generator, year: Year) -> dict[Figure, Estimate]:
    known = rates(rng, year)
    return {figure: predicted(known, figure, size=2_000, error=ERROR / len(FIGURES)) for figure in FIGURES}


@pytest.mark.parametrize("events", [0, 2])
def test_all_figures_of_a_window_lie_inside_together(events: int):
    year = WINDOW.with_fault(replace(DOWN, per_year=float(events)))
    cells = [DOWN.cells[1]] * events + [NO_FAULT] * (20 - events)
    inside = 0
    for number in range(DRAWN):
        rng = np.random.default_rng([7, events, number])
        found, shown = predictions(rng, year), seen([run(rng, cell) for cell in cells])
        inside += all(found[one].low <= shown[one] <= found[one].high for one in FIGURES)
    assert inside >= stats.binom.ppf(1e-4, DRAWN, 1 - ERROR)


def test_what_is_unlike_lies_outside():
    """A slower push, more duplicates, a fault that nobody declared; and one figure in place of another."""
    rng = np.random.default_rng(11)
    found = predictions(rng, WINDOW)

    def outside(runs: list[Observation]) -> set[Figure]:
        shown = seen(runs)
        return {one for one in FIGURES if not found[one].low <= shown[one] <= found[one].high}

    assert outside([run(rng, NO_FAULT) for _ in range(20)]) == set()
    assert outside([run(rng, NO_FAULT, slow=4.0) for _ in range(20)]) == {P50, P99}
    assert outside([run(rng, NO_FAULT, again=0.1) for _ in range(20)]) == {DUPLICATES}
    assert outside([run(rng, DOWN.cells[2]), *(run(rng, NO_FAULT) for _ in range(19))]) == {P99, UNAVAILABLE}
    assert found[P50].high < found[P99].low


def test_few_messages_are_predicted_less_sharply_and_runs_that_are_too_few_not_at_all():
    rng = np.random.default_rng(12)
    known = rates(rng, WINDOW)
    few, many = (predicted(known, P99, size=size, error=0.01) for size in (50, 20_000))
    assert few.low < many.low < many.value < many.high < few.high
    lone = SettingRates(Outcomes({cell: {1: run(rng, cell)} for cell in WINDOW.cells}), WINDOW)
    nothing = predicted(lone, DUPLICATES, size=100, error=0.01)
    assert (float(nothing.low), float(nothing.high)) == (0.0, np.inf)


def test_a_quantile_is_the_shortest_time_that_few_enough_exceed():
    times = [0.3, 0.1, np.inf, 0.2]
    assert [quantile_s(times, share) for share in (0.25, 0.5, 0.75, 0.99)] == [0.1, 0.2, 0.3, np.inf]
