"""Goal: intervals and distances are those of scipy.stats, and cover as often as they say. Method: scipy.stats as the
oracle, simulation. The product itself imports only scipy.special, which is quick.
"""

from collections.abc import Callable
from dataclasses import astuple

import numpy as np
import pytest
from scipy import stats as reference

from zonelab.analysis.proportions import Interval, proportion_interval
from zonelab.analysis.statistics import (
    QUANTILES,
    average_ranks,
    dependence_block_length,
    distribution_margin,
    empirical_cdf,
    ks_block_p_value,
    ks_distance,
    mean_difference_interval,
    mean_interval,
    paired_share_interval,
    quantile_interval,
    quantile_ranks,
    quantiles,
    rate_interval,
    wilson_interval,
)


def test_quantiles_interpolate_linearly_and_an_empty_sample_has_none() -> None:
    assert quantiles([4.0, 1.0, 3.0, 2.0], ["p50", "max"]) == {"p50": 2.5, "max": 4.0}
    assert quantiles([]) == {}
    draws = np.random.default_rng(5).exponential(size=997)
    assert list(quantiles(draws).values()) == np.quantile(draws, list(QUANTILES.values())).tolist()


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (1, 10), (5, 20), (10, 10), (3, 100_000), (400_000, 1_000_000)])
def test_the_proportion_interval_is_that_of_clopper_and_pearson(hits: int, trials: int) -> None:
    exact = reference.binomtest(hits, trials).proportion_ci(method="exact")
    assert astuple(proportion_interval(hits, trials)) == pytest.approx((exact.low, exact.high), rel=1e-8)


def test_no_hit_is_bounded_in_closed_form() -> None:
    assert proportion_interval(0, 100).high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert proportion_interval(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (1, 10), (5, 20), (10, 10), (3, 100_000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_the_score_interval_is_that_of_wilson(hits: int, trials: int, confidence: float) -> None:
    exact = reference.binomtest(hits, trials).proportion_ci(confidence, method="wilson")
    assert astuple(wilson_interval(hits, trials, confidence=confidence)) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("interval", [proportion_interval, wilson_interval, rate_interval])
def test_an_interval_is_of_95_percent_unless_another_is_asked_for(interval: Callable[..., Interval]) -> None:
    assert interval(3, 40) == interval(3, 40, confidence=0.95) != interval(3, 40, confidence=0.9)


@pytest.mark.parametrize("events", [0, 1, 10, 5_000])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_the_rate_interval_is_that_of_garwood(events: int, confidence: float) -> None:
    """Who gave the limits of a Poisson mean as quantiles of chi-squared distributions."""
    tail = (1 - confidence) / 2
    low = reference.chi2.ppf(tail, 2 * events) / 2 if events else 0.0
    high = reference.chi2.ppf(1 - tail, 2 * events + 2) / 2
    assert astuple(rate_interval(events, 1.0, confidence=confidence)) == pytest.approx((low, high))


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


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    sample = [3.0, 5.0, 4.0, 8.0, 1.0]
    expected = reference.t.interval(0.95, 4, loc=np.mean(sample), scale=reference.sem(sample))
    assert mean_interval(sample) == Interval(*map(pytest.approx, expected))
    assert mean_interval([2.0]) is None
    assert mean_interval([2.0, 2.0]) is None


@pytest.mark.parametrize(("worse", "better"), [(0.02, 0.02), (0.3, 0.1), (0.0, 0.05)])
def test_the_interval_of_a_paired_difference_covers_as_often_as_it_says(worse: float, better: float) -> None:
    drawn = np.random.default_rng(5).multinomial(60, [worse, better, 1 - worse - better], size=2_000)
    found = [paired_share_interval(int(fewer), int(more), 60) for more, fewer, _ in drawn]
    assert np.mean([one.low <= worse - better <= one.high for one in found]) >= 0.95


def test_pairs_that_all_agree_still_leave_a_difference_possible() -> None:
    none = paired_share_interval(0, 0, 100)
    assert none.low == -none.high < 0
    assert none.high == pytest.approx(proportion_interval(0, 100, confidence=0.975).high)


def test_ks_distance_is_that_of_scipy() -> None:
    draw = np.random.default_rng(3)
    one, two = draw.normal(size=300), draw.normal(0.3, size=170).round(1)
    assert ks_distance(one, two) == pytest.approx(reference.ks_2samp(one, two).statistic)
    assert ks_distance([1, 2], [1, 2]) == 0
    assert ks_distance([1], [2]) == 1


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    draws = np.random.default_rng(8).integers(0, 30, 200)
    assert average_ranks(draws).tolist() == reference.rankdata(draws).tolist()


def test_a_long_cdf_is_thinned_but_keeps_its_ends() -> None:
    x, y = empirical_cdf(np.arange(10_000), points=50)
    assert len(x) == 50
    assert (x[0], y[0], x[-1], y[-1]) == (0, 1 / 10_000, 9_999, 1)


def test_a_short_cdf_is_that_of_scipy() -> None:
    draws = np.random.default_rng(6).normal(size=40)
    x, y = empirical_cdf(draws, points=50)
    exact = reference.ecdf(draws).cdf
    assert (x.tolist(), y.tolist()) == (exact.quantiles.tolist(), exact.probabilities.tolist())


def test_impossible_arguments_are_refused_with_their_value() -> None:
    with pytest.raises(ValueError, match="got 11"):
        proportion_interval(11, 10)
    with pytest.raises(ValueError, match="got -1 and 5"):
        rate_interval(-1, 5)
    with pytest.raises(ValueError, match=r"got 1\.0"):
        quantile_interval([1, 2], 1.0)
    with pytest.raises(ValueError, match="at least one value"):
        ks_distance([], [1])


def test_the_interval_of_a_difference_of_means_is_that_of_welch() -> None:
    rng = np.random.default_rng(11)
    first, second = rng.normal(5, 1, 7), rng.normal(6, 3, 12)
    found = mean_difference_interval(first, second)
    assert found is not None
    expected = reference.ttest_ind(second, first, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert mean_difference_interval([1.0, 1.0], [3.0, 3.0]) == Interval(2.0, 2.0)
    assert mean_difference_interval([1.0], [3.0, 4.0]) is None


@pytest.mark.parametrize("count", [0, 1, 2, 5, 6, 17, 400])
@pytest.mark.parametrize("probability", [0.001, 0.5, 0.9])
def test_the_ranks_of_a_quantile_are_those_of_the_binomial_distribution(count: int, probability: float) -> None:
    low, high = reference.binom(count, probability).ppf([0.025, 0.975]) if count else (0, 0)
    expected = None if low < 1 or high >= count else (low - 1, high)
    assert quantile_ranks(count, probability) == expected == quantile_ranks(count, probability, confidence=0.95)


def test_the_margin_of_a_distribution_is_that_of_massart_and_no_sample_has_none() -> None:
    assert distribution_margin(1) == pytest.approx(np.sqrt(np.log(40) / 2))
    assert distribution_margin(50, confidence=0.99) == pytest.approx(np.sqrt(np.log(200) / 100))
    with pytest.raises(ValueError, match="count must be >= 1, got 0"):
        distribution_margin(0)


def written_out(series: np.ndarray) -> int:
    """The rule of Politis and White, as the paper has it: sums written out, lags tried one after the other."""
    n, ranks = len(series), reference.rankdata(series)
    centred = ranks - ranks.mean()
    k = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    most_lag = min(n - 1, int(np.ceil(np.sqrt(n))) + k)
    covariance = [float((centred[: n - lag] * centred[lag:]).sum()) / n for lag in range(most_lag + 1)]
    small = [abs(one / covariance[0]) < 2 * np.sqrt(np.log10(n) / n) for one in covariance]
    last = next((lag for lag in range(most_lag - k + 1) if all(small[lag + 1 : lag + 1 + k])), most_lag)
    width = min(2 * max(last, 1), most_lag)
    weights = [min(1.0, 2 * (1 - lag / width)) for lag in range(width + 1)]
    density = covariance[0] + 2 * sum(weights[lag] * covariance[lag] for lag in range(1, width + 1))
    slope = 2 * sum(lag * weights[lag] * covariance[lag] for lag in range(1, width + 1))
    least, most = int(np.ceil(n ** (1 / 3))), int(np.ceil(min(3 * np.sqrt(n), n / 3)))
    wanted = most if density <= 0 else int(np.ceil((1.5 * (slope / density) ** 2 * n) ** (1 / 3)))
    return max(least, min(most, wanted))


@pytest.mark.parametrize("memory", [-0.9, 0.0, 0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("size", [10, 37, 300])
def test_the_length_of_blocks_is_that_of_politis_and_white(memory: float, size: int) -> None:
    for seed in range(4):
        noise, series = np.random.default_rng(seed).normal(size=size), np.zeros(size)
        for place in range(1, size):
            series[place] = memory * series[place - 1] + noise[place]
        assert dependence_block_length(series) == written_out(series)


@pytest.mark.parametrize(("one", "two", "block_length"), [(12, 9, 3), (10, 11, 4), (5, 5, 1), (7, 2, 5)])
def test_the_p_value_counts_the_deals_of_blocks_that_are_as_far_apart(one: int, two: int, block_length: int) -> None:
    values = np.random.default_rng(one).integers(0, 4, one + two).astype(float)
    series = values[:one], values[one:]
    blocks = [part[at : at + block_length] for part in series for at in range(0, len(part), block_length)]
    first = np.arange(len(blocks)) < -(-one // block_length)
    rng, seen = np.random.default_rng(5), ks_distance(*series)

    def apart(deal: list[bool]) -> float:
        dealt = list(zip(blocks, deal, strict=True))
        return ks_distance(
            *(np.concatenate([block for block, ours in dealt if ours is side]) for side in (True, False))
        )

    larger = sum(apart([bool(ours) for ours in rng.permutation(first)]) >= seen - 1e-12 for _ in range(60))
    found = ks_block_p_value(*series, block_length=block_length, permutations=60, rng=np.random.default_rng(5))
    assert found == (larger + 1) / 61
