"""Goal: a lag and its distribution are one thing. Method: draws of both against the distribution function.

The band of Dvoretzky, Kiefer and Wolfowitz holds for every distribution; seeds are fixed.
"""

from random import Random

import numpy as np
import pytest

from zonelab.analysis.lags.distributions import quantiles_ms
from zonelab.analysis.statistics import distribution_margin
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.scenarios.lags.distributions import distribution_of

DRAWS = 20_000
MARGIN = distribution_margin(DRAWS, confidence=0.9999)
TEXTS = (
    "0",
    "constant:2ms",
    "uniform:1ms:5ms",
    "normal:1ms:2ms",
    "exponential:2ms",
    "lognormal:2ms:15ms",
    "pareto:1ms:1.5",
    "0.9*uniform:1ms:5ms + 0.1*exponential:50ms",
    "1*constant:1ms + 2*pareto:2ms:3 + 1*normal:5ms:1ms",
    "loopback",
    "lnkd-ssd",
    "lnkd-disk-w",
    "ymmr-w",
    "ymmr-ars",
)


def distance(drawn, distribution, *, rounding_ms: float = 0.0) -> float:
    """Of the empirical distribution function of ``drawn``, above and below, from that of ``distribution``."""
    values, counts = np.unique(drawn, return_counts=True)
    at = np.cumsum(counts) / len(drawn)
    less = np.nextafter(values - rounding_ms, -np.inf)
    above = at - distribution.share_within(values + rounding_ms)
    below = distribution.share_within(less) - (at - counts / len(drawn))
    return max(above.max(), below.max())


@pytest.mark.parametrize("text", TEXTS)
def test_many_draws_and_those_of_a_link_have_one_distribution(text: str) -> None:
    lag = parse_lag(text)
    distribution = distribution_of(lag)
    draw = lag.sampler(Random(1))
    one_by_one = np.array([draw() for _ in range(DRAWS)]) / 1e6
    many = distribution.draw(np.random.default_rng(1), (2, DRAWS // 2)).ravel()
    assert distance(many, distribution) <= MARGIN
    assert distance(one_by_one, distribution, rounding_ms=1e-6) <= MARGIN
    assert distance(many, distribution_of(parse_lag(distribution.text))) <= MARGIN


def test_a_wrong_parameter_is_noticed() -> None:
    drawn = distribution_of(parse_lag("lognormal:2ms:18ms")).draw(np.random.default_rng(1), DRAWS)
    assert distance(drawn, distribution_of(parse_lag("lognormal:2ms:15ms"))) > MARGIN


def test_quantiles_are_the_inverse_of_the_distribution_function() -> None:
    distribution = distribution_of(parse_lag("0.9*uniform:1ms:5ms + 0.1*exponential:50ms"))
    shares = np.array([0.001, 0.5, 0.9, 0.999])
    assert distribution.share_within(quantiles_ms(distribution, shares)) == pytest.approx(shares, abs=1e-12)
    assert quantiles_ms(distribution_of(parse_lag("2ms")), [0.5]) == pytest.approx([2.0])


def test_a_trace_is_drawn_from(tmp_path) -> None:
    (tmp_path / "lags.csv").write_text("lag_ms\n1\n2.5\n3\n", encoding="utf-8")
    lag = parse_lag(f"trace:{tmp_path / 'lags.csv'}")
    distribution = distribution_of(lag)
    assert set(distribution.draw(np.random.default_rng(1), 100)) == {1.0, 2.5, 3.0}
    assert distribution.share_within([0.5, 1, 2.6]).tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    assert distribution.text == str(lag)


def test_what_is_no_lag_of_the_lab_is_refused() -> None:
    with pytest.raises(TypeError, match="Random: no distribution is known for it"):
        distribution_of(Random(1))


@pytest.mark.parametrize("text", ["constant:5ms", "lognormal:5ms:5ms"])
def test_a_delay_that_does_not_vary_is_within_itself_and_not_within_less(text: str) -> None:
    assert distribution_of(parse_lag(text)).share_within([0.0, np.nextafter(5.0, 0), 5.0, 6.0]).tolist() == [0, 0, 1, 1]
