"""Goal: two settings are compared in pairs of runs, by one rule, which separates chance from effect.

Method: counts whose chances are known; values of which a comparison of unpaired runs would show nothing.
"""

import pytest

from zonelab.analysis.observation import Observation
from zonelab.analysis.paired_runs import PairedDifference, is_pair, sign_test
from zonelab.analysis.statistics import mean_difference_interval, mean_interval


@pytest.mark.parametrize(("more", "fewer", "chance"), [(0, 9, 1.0), (1, 0, 0.5), (10, 0, 2**-10), (3, 1, 5 / 16)])
def test_the_sign_test_is_the_tail_of_coin_tosses(more: int, fewer: int, chance: float) -> None:
    assert sign_test(more, fewer) == pytest.approx(chance)


def run(valid: bool | str | None = True, **numbers: float) -> Observation:
    return Observation(valid=valid, numbers=numbers)


def test_what_the_seed_does_to_both_runs_cancels_out() -> None:
    first = [run(late=100.0 * seed) for seed in range(10)]
    second = [run(late=100.0 * seed + 1 + seed % 2) for seed in range(10)]
    found = PairedDifference.of(zip(first, second, strict=True), lambda one: one.numbers["late"])
    assert found.values == (1, 2) * 5
    assert (found.more, found.fewer) == (10, 0)
    assert (found.chance_of_more, found.chance_of_fewer) == (2**-10, 1.0)
    paired = mean_interval(found.values)
    unpaired = mean_difference_interval(*([one.numbers["late"] for one in runs] for runs in (first, second)))
    assert paired is not None
    assert unpaired is not None
    assert paired.low > 1
    assert unpaired.low < 0 < unpaired.high


def test_shares_differ_by_the_pairs_in_which_one_run_fails_alone() -> None:
    pairs = [
        (run(first), run(second)) for first, second in [(True, False)] * 3 + [(False, True)] + [(False, False)] * 4
    ]
    found = PairedDifference.of(pairs, lambda one: one.valid is False)
    assert (found.more, found.fewer, found.share) == (3, 1, 2 / 8)
    assert found.share_interval.low < 0 < found.share < found.share_interval.high
    assert (found.chance_of_more, found.chance_of_fewer) == (5 / 16, 15 / 16)


def test_runs_that_are_not_decided_and_values_that_are_missing_make_no_pair() -> None:
    decided, undecided = (run(True), run(False)), (run("unknown"), run(None))
    assert all(is_pair(one, other) for one in decided for other in decided)
    assert not any(is_pair(one, other) or is_pair(other, one) for one in decided + undecided for other in undecided)
    found = PairedDifference.of([(run(late=1), run()), (run(late=1), run(late=3))], lambda one: one.numbers.get("late"))
    assert found.values == (2,)
