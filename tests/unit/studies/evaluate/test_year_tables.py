"""Goal: figures of a year are told without powers of ten, and nothing is told of nothing. Method: planted estimates."""

from dataclasses import replace

import numpy as np
import pytest
from support.analysis.planted_rollouts import DOWN, ROLLOUTS

from zonelab.analysis.rates.objectives import Figure
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.samples import Estimate
from zonelab.studies.evaluate.reasons import AnswerReasons
from zonelab.studies.evaluate.year_tables import YearTables, of_year

ENDLESS = float("inf")


def told(figure: str, *ends: float) -> str:
    """Return the text of an estimate with its interval."""
    rollout = ROLLOUTS["the cheapest does"]
    name = Figure.parsed(figure)
    values = {"one": {name: Estimate(*map(np.asarray, ends))}}
    return YearTables(names=["one"], measured=rollout.measured(1), values=values).told("one", name)


@pytest.mark.parametrize(
    ("figure", "ends", "text"),
    [
        ("p50(lease)", (0.0, 0.0, 0.0), "below 1ms"),
        ("p50(lease)", (0.0, 0.0, 0.002), "below 1ms (below 2ms)"),
        ("p50(push)", (0.004, 0.004, 0.004), "4ms"),
        ("p50(push)", (0.004, 0.003, ENDLESS), "4ms (3ms to unbounded)"),
        ("p99(push)", (ENDLESS, 0.003, ENDLESS), "endless (3ms to endless)"),
        ("losses", (2.68e-6, 4.58e-22, 5e-6), "2.68 (0 to 5)"),
        ("losses", (6e-9, 4e-9, 8e-9), "0.006 (0.004 to 0.008)"),
        ("losses", (0.0, 0.0, ENDLESS), "0 (unbounded)"),
        ("unavailable", (9.82, 1.8e-15, ENDLESS), "9.82s (0s to unbounded)"),
    ],
)
def test_a_figure_of_the_year_is_told_with_its_interval(figure: str, ends: tuple[float, ...], text: str) -> None:
    assert told(figure, *ends) == text


def test_a_year_with_a_class_of_faults_that_has_no_run_says_so() -> None:
    rollout = ROLLOUTS["the cheapest does"]
    measured = {}
    for name, one in rollout.measured(1).items():
        runs = {cell: runs for cell, runs in one.outcomes.runs.items() if cell.fault is None}
        measured[name] = replace(one, outcomes=Outcomes(runs), _tails={}, _means={})
    figures = [Figure.parsed(text) for text in ("unavailable", "losses", "p99(push)")]
    year = YearTables(names=["one"], measured=measured, values=of_year(measured, prefer=figures))
    texts = [year.told("one", figure) for figure in figures]
    nothing = f"no run with '{DOWN}' yet"
    assert texts[:2] == [nothing, nothing]
    assert texts[2].endswith(f"; {nothing}")
    (cells,) = year.counts.cells()
    assert [cell.splitlines()[0] for cell in (cells[1], cells[3])] == [nothing, nothing]


@pytest.mark.parametrize(("of_first", "told_uneven"), [(12, True), (40, False)])
def test_a_tie_led_by_the_setting_with_fewer_runs_tells_both_numbers(of_first: int, told_uneven: bool) -> None:
    rollout = ROLLOUTS["a tie"]
    found = rollout.decided(seed=1)
    assert found.recommended is not None
    assert found.tied
    runs = {**dict.fromkeys(rollout.settings, 40), found.recommended: of_first}
    reasons = AnswerReasons(found=found, values=of_year(rollout.measured(1), prefer=[]), runs=runs)
    tied = next(line for line in reasons.sentences() if " is tied with it" in line)
    assert (f"runs cannot tell them apart in {of_first} runs of that and 40 of this" in tied) == told_uneven
    assert reasons.fewer == (f" (12 runs of the first; of {found.tied[0]} 40)" if told_uneven else "")
