"""Goal: the intervals and p values of a comparison mean what they say. Method: published examples, exact cases, and
repeated draws from known processes, independent and autocorrelated, of which the true difference is known.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from zonelab.analysis.comparison.metrics import MetricComparison, compare_series
from zonelab.analysis.comparison.samples import Metric, Series
from zonelab.analysis.statistics import (
    Interval,
    block_bootstrap_quantiles,
    dependence_block_length,
    ks_block_p_value,
    ks_distance,
    newcombe_interval,
    wilson_interval,
)

Floats = NDArray[np.float64]


def latencies(rng: np.random.Generator, n: int, *, correlation: float = 0.0) -> Floats:
    """Lognormal values, median 1, whose logarithms are a first-order autoregression."""
    noise = rng.normal(scale=0.5 * np.sqrt(1 - correlation**2), size=n + 300)
    from scipy.signal import lfilter  # a second of imports, for every process that collects tests

    return np.exp(lfilter([1], [1, -correlation], noise)[300:])


def compared(first: Floats, second: Floats) -> MetricComparison:
    one, two = (Series(values_ms=values, count=values.size, every=1) for values in (first, second))
    return compare_series(Metric.PUSH, one, two)


def width(interval: Interval) -> float:
    return interval.high - interval.low


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [((48, 80), (56, 70), 0.0524, 0.3339), ((3, 10), (9, 10), 0.1705, 0.8090), ((0, 10), (10, 10), 0.6075, 1.0)],
)
def test_differences_of_shares_have_the_intervals_that_newcombe_published(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    found = newcombe_interval(first, second)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)
    turned = newcombe_interval(second, first)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def test_shares_without_trials_may_differ_by_anything() -> None:
    assert wilson_interval(0, 0) == Interval(0.0, 1.0)
    assert newcombe_interval((0, 0), (0, 0)) == Interval(-1.0, 1.0)
    assert newcombe_interval((0, 0), (0, 100)).high < 0.05


@pytest.mark.parametrize(("hits", "trials"), [(3, 2), (-1, 5)])
def test_more_hits_than_trials_are_refused(hits: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"hits must be 0..{trials}"):
        newcombe_interval((0, 1), (hits, trials))


def test_blocks_grow_with_the_dependence_and_with_the_length_of_the_series() -> None:
    rng = np.random.default_rng(1)
    short, long = 1_000, 8_000
    lengths = [dependence_block_length(latencies(rng, short, correlation=value)) for value in (0, 0.7, 0.95)]
    assert lengths == sorted(set(lengths))
    assert lengths[0] < 20
    assert dependence_block_length(latencies(rng, long, correlation=0.7)) > lengths[1]


@pytest.mark.parametrize(("series", "length"), [([], 1), ([5.0], 1), ([1.0] * 1_000, 10), (list(range(9)), 3)])
def test_series_without_information_get_blocks_of_the_general_rate(series: list[float], length: int) -> None:
    assert dependence_block_length(series) == length


def test_a_resample_is_made_of_neighbours() -> None:
    rng = np.random.default_rng(2)
    # The minimum and the maximum of a resample of one block are the ends of a stretch of the series.
    ends = block_bootstrap_quantiles(np.arange(50.0), [0, 1], block_length=50, resamples=5, rng=rng)
    assert ends.tolist() == [[0.0, 49.0]] * 5
    ramp = np.repeat(np.arange(10.0), 10)
    plain = block_bootstrap_quantiles(ramp, [0.5], block_length=1, resamples=400, rng=rng)
    blocks = block_bootstrap_quantiles(ramp, [0.5], block_length=25, resamples=400, rng=rng)
    assert plain.shape == (400, 1)
    assert blocks.std() > 2 * plain.std()


def test_resamples_drawn_in_several_portions_are_as_many_as_asked_for() -> None:
    found = block_bootstrap_quantiles(
        np.arange(300_000.0), [0.5], block_length=100, resamples=7, rng=np.random.default_rng(1)
    )
    assert found.shape == (7, 1)
    assert len(np.unique(found)) == 7


@pytest.mark.parametrize("length", [0, 6])
def test_blocks_longer_than_the_series_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"block_length must be 1..5 .*got {length}"):
        block_bootstrap_quantiles([1.0] * 5, [0.5], block_length=length, resamples=1, rng=np.random.default_rng(1))


@pytest.mark.parametrize(("correlation", "least", "most"), [(0.8, 1.7, 9.0), (0.0, 0.7, 1.3)])
def test_intervals_are_wider_than_those_of_the_plain_bootstrap_as_far_as_samples_are_autocorrelated(
    correlation: float, least: float, most: float
) -> None:
    rng = np.random.default_rng(3)
    first, second = (latencies(rng, 2_000, correlation=correlation) for _ in range(2))
    found = compared(first, second).quantiles[0]
    plain = [
        block_bootstrap_quantiles(part, [0.5], block_length=1, resamples=1_000, rng=rng) for part in (first, second)
    ]
    low, high = np.quantile(plain[1] - plain[0], (0.025, 0.975))
    assert least < width(found.interval_ms) / (high - low) < most


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_intervals_of_medians_hold_the_truth_about_as_often_as_they_claim(correlation: float) -> None:
    rng = np.random.default_rng(5)
    trials = 40
    found = [
        compared(*(latencies(rng, 600, correlation=correlation) for _ in range(2))).quantiles[0].interval_ms
        for _ in range(trials)
    ]
    hits = sum(interval.low <= 0 <= interval.high for interval in found)
    assert hits >= 0.85 * trials  # 0.93 to 0.95 is usual; blocks are a little too optimistic in short series


def test_medians_that_differ_by_a_fifth_are_not_said_to_agree_within_15_percent() -> None:
    # The standard error of the logarithm of the ratio is 0.5 * 1.25 * sqrt(2 / 12,000) = 0.008, and log(1.2 / 1.15) is
    # five of those: "undecided" has a chance of about one in a thousand.
    rng = np.random.default_rng(6)
    found = [compared(latencies(rng, 12_000), 1.2 * latencies(rng, 12_000)) for _ in range(2)]
    assert [row.agree() for row in found] == ["no"] * 2
    turned = compared(latencies(rng, 12_000), latencies(rng, 12_000) / 1.3)
    assert turned.agree() == "no"


def test_a_fifth_between_short_dependent_samples_is_no_or_undecided_but_never_agreement() -> None:
    rng = np.random.default_rng(6)
    pairs = [[latencies(rng, 1_000, correlation=0.5) for _ in range(2)] for _ in range(20)]
    assert "yes" not in {compared(one, 1.2 * two).agree() for one, two in pairs}


def test_equal_distributions_agree_in_large_samples_and_are_undecided_in_small_ones() -> None:
    rng = np.random.default_rng(7)
    verdicts = {n: [compared(latencies(rng, n), latencies(rng, n)).agree() for _ in range(10)] for n in (15, 60, 3_000)}
    assert set(verdicts[15]) == {"undecided"}
    assert "no" not in verdicts[60]
    assert set(verdicts[3_000]) == {"yes"}


def test_a_quantile_with_too_few_values_beyond_it_has_no_interval() -> None:
    rng = np.random.default_rng(8)
    for n, known in ((490, [True, True, False]), (500, [True, True, True])):
        found = compared(latencies(rng, n), latencies(rng, n))
        assert [row.interval_ms is not None for row in found.quantiles] == known


def test_a_quantile_that_is_not_above_0_has_no_relative_difference() -> None:
    rng = np.random.default_rng(9)
    found = compared(rng.normal(-5, 1, 1_000), rng.normal(5, 1, 1_000))
    median = found.quantiles[0]
    assert (median.relative, median.relative_interval) == (None, None)
    assert median.interval_ms.low < 10 < median.interval_ms.high
    assert found.agree() == "undecided"


def test_the_p_value_is_small_for_a_shift_and_spread_evenly_without_one() -> None:
    rng = np.random.default_rng(10)

    def p_value(factor: float) -> float:
        one, two = latencies(rng, 300, correlation=0.5), factor * latencies(rng, 300, correlation=0.5)
        return ks_block_p_value(one, two, block_length=12, permutations=199, rng=rng)

    assert p_value(2.0) == 1 / 200
    null = [p_value(1.0) for _ in range(60)]
    assert sum(value <= 0.05 for value in null) <= 9
    assert 0.3 < np.mean(null) < 0.7


def test_equal_samples_have_distance_0_and_p_1_ties_and_unequal_sizes_included() -> None:
    rng = np.random.default_rng(11)
    lattice = rng.integers(0, 4, 200).astype(float)
    assert ks_block_p_value(lattice, lattice, block_length=5, permutations=99, rng=rng) == 1.0
    twice = np.concatenate([lattice, lattice])
    assert ks_distance(lattice, twice) == 0
    assert ks_block_p_value(lattice, twice, block_length=7, permutations=99, rng=rng) == 1.0


def test_blocks_keep_the_p_value_honest_where_single_operations_do_not() -> None:
    rng = np.random.default_rng(12)
    pairs = [tuple(latencies(rng, 500, correlation=0.9) for _ in range(2)) for _ in range(40)]

    def false_alarms(block_length: int) -> int:
        values = (ks_block_p_value(*pair, block_length=block_length, permutations=99, rng=rng) for pair in pairs)
        return sum(value <= 0.05 for value in values)

    assert false_alarms(1) >= 20
    assert false_alarms(40) <= 10
