"""Goal: medians of both arms are called alike, apart or neither as their runs say. Method: made-up medians of runs."""

import numpy as np
import pytest

from zonelab.analysis.comparison.confirmation import ConfirmationStatus, MedianPair, decided, medians_ms, pairs_of
from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.outcomes import UNCONFIRMED


def runs(middle_ms: float, *, count: int = 8, spread: float = 0.03, seed: int = 1) -> list[float]:
    return (middle_ms * np.exp(np.random.default_rng(seed).normal(0, spread, count))).tolist()


def pair(predicted: list[float], measured: list[float]) -> MedianPair:
    (found,) = pairs_of([{"push": one} for one in predicted], [{"push": one} for one in measured])
    return found


@pytest.mark.parametrize(
    ("factor", "agree", "status"),
    [
        (1.03, "yes", ConfirmationStatus.CONFIRMED),
        (0.95, "yes", ConfirmationStatus.CONFIRMED),
        (1.15, "undecided", ConfirmationStatus.UNDECIDED),
        (1.3, "no", ConfirmationStatus.NOT),
        (0.1, "no", ConfirmationStatus.NOT),
        (10.0, "no", ConfirmationStatus.NOT),
    ],
)
def test_medians_are_compared_run_by_run(factor: float, agree: str, status: ConfirmationStatus):
    found = pair(runs(5.0), runs(5.0 * factor, seed=2))
    assert found.agree() == agree
    assert decided([found], busy=False)[0] is status
    assert found.interval is not None
    assert found.interval.low < factor - 1 < found.interval.high


def test_few_runs_that_vary_decide_nothing_and_say_so():
    found = pair(runs(5.0, count=4), runs(5.0, count=2, spread=0.2, seed=2))
    assert decided([found], busy=False) == (
        ConfirmationStatus.UNDECIDED,
        "2 real runs, or 4 simulated ones, are too few",
    )
    assert pair(runs(5.0), [5.0]).agree() == "undecided", "a single run says nothing of how runs vary"
    assert decided([], busy=False) == (ConfirmationStatus.UNDECIDED, "no median is known in both arms")


def test_a_busy_machine_excuses_what_is_slower_and_never_what_is_quicker():
    slower, quicker = (pair(runs(5.0), runs(5.0 * factor, seed=2)) for factor in (2.0, 0.5))
    assert decided([slower], busy=True) == (ConfirmationStatus.UNDECIDED, "machine was busy")
    assert decided([slower, quicker], busy=True)[0] is ConfirmationStatus.NOT
    alike = pair(runs(5.0), runs(5.0, seed=2))
    assert decided([alike], busy=True) == (ConfirmationStatus.UNDECIDED, "machine was busy")


def test_a_median_is_of_the_operations_that_were_confirmed():
    times = {"push": [1000, 2000, 9000], "ack": [1000, UNCONFIRMED, 2000], "late": [1]}
    found = medians_ms(Observation(begun=3, samples=times))
    assert found == {"push": 2.0, "ack": 1.5}
    assert [one.operation for one in pairs_of([found], [{"push": 2.0}])] == ["push"]


def test_leases_in_whole_milliseconds_have_a_median_between_them_and_none_below_one():
    leases = np.rint(np.random.default_rng(3).normal(3.4, 1.0, 4000) * 1).astype(int) * 1000
    median_ms = medians_ms(Observation(begun=4000, samples={"lease": leases.tolist()}))["lease"]
    assert median_ms == pytest.approx(3.4, abs=0.1)
    assert pairs_of([{"lease": 0.4}] * 4, [{"lease": 0.4}] * 4) == ()
