"""Goal: a bar of an objective is where its interval is beside the bound. Method: planted judgements."""

from typing import Any

import pytest

from zonelab.analysis.evaluation_page import objective_bar


def judged(value: float | None, low: float, high: float | None, **changed: Any) -> dict[str, Any]:
    whole = {"status": "met", "value": value, "low": low, "high": high, "upper": high, "bound": 0.02}
    whole |= {"cases": 0, "lacking": [], "runs": 20}
    return {**whole, **changed}


def test_a_lower_end_of_nothing_is_drawn_at_the_left_and_the_bound_in_the_middle() -> None:
    bar = objective_bar(judged(0.0, 0.0, 0.02))
    assert (bar["low"], bar["value"]) == (0.0, 0.0)
    assert bar["high"] == bar["bound"] == pytest.approx(50, abs=0.5)


def test_what_is_below_the_bound_is_left_of_it_and_what_is_above_it_right() -> None:
    bound = objective_bar(judged(0.01, 0.0, 0.01))["bound"]
    assert bound is not None
    for value in (1e-6, 1e-3, 0.0199, 0.0201, 0.3, 1.9):
        place = objective_bar(judged(value, 0.0, value))["value"]
        assert place is not None
        assert (place < bound) == (value < 0.02)


def test_endless_unbounded_and_far_beyond_is_no_place_but_an_arrow() -> None:
    for one in (judged(None, 0.01, None), judged(3.0, 3.0, 3.0), judged(0.01, 0.001, None, status="open")):
        assert objective_bar(one)["upper"] is None
        assert objective_bar(one)["high"] == 100.0
    assert objective_bar(judged(None, 0.01, None))["value"] is None
    assert objective_bar(judged(3.0, 3.0, 3.0))["low"] == 100.0


def test_only_an_open_objective_reaches_as_far_as_the_runs_leave_possible() -> None:
    reach = objective_bar(judged(0.001, 0.0, 0.002, status="open", upper=0.5))["upper"]
    assert reach == objective_bar(judged(0.5, 0.0, 0.5))["value"]
    met = objective_bar(judged(0.001, 0.0, 0.002, upper=0.5))
    assert met["upper"] == met["high"]


@pytest.mark.parametrize(("cases", "value", "high"), [(0, 0.0, 0.0), (3, None, 100.0)])
def test_a_claim_that_there_is_none_is_at_the_left_or_beyond_its_end(
    cases: int, value: float | None, high: float
) -> None:
    bar = objective_bar(judged(0.1, 0.0, 0.2, bound=0.0, cases=cases))
    assert (bar["value"], bar["high"], bar["bound"]) == (value, high, 0.0)
    for unknown in ({"lacking": ["down"]}, {"runs": 0}):
        never_run = objective_bar(judged(None, 0.0, None, bound=0.0, cases=cases, **unknown))
        assert (never_run["value"], never_run["high"]) == (None, 100.0)
