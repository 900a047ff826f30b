"""Goal: figures of published tables and the promised coverage. Method: known values, brute force, simulation."""

from dataclasses import astuple

import numpy as np
import pytest
from scipy import stats as reference

from analysis.statistics import (
    Interval,
    empirical_cdf,
    ks_distance,
    proportion_interval,
    quantile_interval,
    quantiles,
    rate_interval,
)


def test_quantiles_interpolate_linearly_and_an_empty_sample_has_none() -> None:
    assert quantiles([4.0, 1.0, 3.0, 2.0], ["p50", "max"]) == {"p50": 2.5, "max": 4.0}
    assert quantiles([]) == {}


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (1, 10), (5, 20), (10, 10), (3, 100_000)])
def test_the_proportion_interval_is_that_of_clopper_and_pearson(hits: int, trials: int) -> None:
    exact = reference.binomtest(hits, trials).proportion_ci(method="exact")
    assert astuple(proportion_interval(hits, trials)) == pytest.approx((exact.low, exact.high), abs=1e-8)


def test_no_hit_is_bounded_in_closed_form() -> None:
    assert proportion_interval(0, 100).high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert proportion_interval(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize(("events", "low", "high"), [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.39)])
def test_the_rate_interval_gives_the_tabulated_poisson_limits(events: int, low: float, high: float) -> None:
    """Garwood's limits, as in every table of exact Poisson intervals."""
    assert astuple(rate_interval(events, 1.0)) == pytest.approx((low, high), rel=1e-3)


def test_the_rate_interval_scales_with_exposure() -> None:
    assert rate_interval(10, 1_000).high == pytest.approx(rate_interval(10, 1).high / 1_000)


@pytest.mark.parametrize("size", [30, 59, 200, 5_000])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_the_ranks_of_a_quantile_interval_cover_and_are_the_tightest(size: int, probability: float) -> None:
    ranks = np.arange(size, dtype=float)
    interval = quantile_interval(ranks, probability)
    below = reference.binom(size, probability)
    if interval is None:
        assert below.cdf(0) > 0.025 or below.cdf(size - 1) < 0.975
        return
    low, high = int(interval.low), int(interval.high)
    assert below.cdf(high) - below.cdf(low) >= 0.95
    assert below.cdf(low + 1) > 0.025 or below.cdf(low) == pytest.approx(0.025)
    assert below.cdf(high - 1) < 0.975


def test_a_quantile_interval_covers_as_often_as_it_says() -> None:
    draw = np.random.default_rng(7)
    hits = 0
    for _ in range(400):
        interval = quantile_interval(draw.exponential(size=500), 0.9)
        assert interval is not None
        hits += interval.low <= -np.log(0.1) <= interval.high
    assert hits / 400 >= 0.93


def test_ks_distance_is_that_of_scipy() -> None:
    draw = np.random.default_rng(3)
    one, two = draw.normal(size=300), draw.normal(0.3, size=170).round(1)
    assert ks_distance(one, two) == pytest.approx(reference.ks_2samp(one, two).statistic)
    assert ks_distance([1, 2], [1, 2]) == 0
    assert ks_distance([1], [2]) == 1


def test_a_long_cdf_is_thinned_but_keeps_its_ends() -> None:
    x, y = empirical_cdf(np.arange(10_000), points=50)
    assert len(x) == 50
    assert (x[0], y[0], x[-1], y[-1]) == (0, 1 / 10_000, 9_999, 1)


def test_impossible_arguments_are_refused_with_their_value() -> None:
    with pytest.raises(ValueError, match="got 11"):
        proportion_interval(11, 10)
    with pytest.raises(ValueError, match="got -1 and 5"):
        rate_interval(-1, 5)
    with pytest.raises(ValueError, match=r"got 1\.0"):
        quantile_interval([1, 2], 1.0)
    with pytest.raises(ValueError, match="at least one value"):
        ks_distance([], [1])
