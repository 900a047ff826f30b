"""Goal: lags are what their text says. Method: round trips, closed forms of moments and quantiles, bad input.

A quantile is checked by how many of n draws lie below it: that number is binomial whatever the distribution. A mean is
checked against its standard error. Both tolerances are five standard deviations, and the seed is fixed.
"""

import math
from functools import cache
from random import Random

import pytest

from zonelab.cluster.links.lag import ConstantLag, Lag, MixtureLag, exponential, lognormal, normal, pareto, uniform
from zonelab.cluster.links.lag_text import parse_lag

DRAWS = 100_000
SIGMAS = 5


@cache
def sample_ms(text: str) -> list[float]:
    return draws_ms(parse_lag(text))


def draws_ms(lag: Lag, count: int = DRAWS, seed: int = 1) -> list[float]:
    draw = lag.sampler(Random(seed))
    return [draw() / 1e6 for _ in range(count)]


def normal_cdf(x: float, mean: float, deviation: float) -> float:
    return (1 + math.erf((x - mean) / (deviation * math.sqrt(2)))) / 2


def pareto_cdf(x: float, scale: float, shape: float) -> float:
    return 1 - (scale / x) ** shape if x > scale else 0.0


def exponential_cdf(x: float, rate: float) -> float:
    return 1 - math.exp(-rate * x)


def lognormal_cdf(x: float, median: float, p99: float) -> float:
    return normal_cdf(math.log(x), math.log(median), math.log(p99 / median) / 2.3263478740408408)


# text: (mean and deviation in ms where both exist, cumulative distribution function)
CLOSED_FORMS = {
    "uniform:1ms:5ms": ((3.0, 4 / math.sqrt(12)), lambda x: min(1, max(0, (x - 1) / 4))),
    "normal:20ms:2ms": ((20.0, 2.0), lambda x: normal_cdf(x, 20, 2)),
    "exponential:2ms": ((2.0, 2.0), lambda x: exponential_cdf(x, 0.5)),
    "lognormal:2ms:15ms": (None, lambda x: lognormal_cdf(x, 2, 15)),
    "pareto:1ms:3.5": ((1.4, math.sqrt(3.5 / 1.5) / 2.5), lambda x: pareto_cdf(x, 1, 3.5)),
    "pareto:1ms:1.5": (None, lambda x: pareto_cdf(x, 1, 1.5)),
    "0.9*uniform:1ms:5ms + 0.1*exponential:50ms": (
        None,
        lambda x: 0.9 * min(1, max(0, (x - 1) / 4)) + 0.1 * exponential_cdf(x, 1 / 50),
    ),
    "loopback": (None, lambda x: lognormal_cdf(x, 0.025, 0.1)),
    # Bailis et al., Probabilistically Bounded Staleness, VLDB 2012, table 3; Pareto (scale, shape), exponential rate
    "lnkd-ssd": (None, lambda x: 0.9122 * pareto_cdf(x, 0.235, 10) + 0.0878 * exponential_cdf(x, 1.66)),
    "lnkd-disk-w": (None, lambda x: 0.38 * pareto_cdf(x, 1.05, 1.51) + 0.62 * exponential_cdf(x, 0.183)),
    "ymmr-w": (None, lambda x: 0.939 * pareto_cdf(x, 3, 3.35) + 0.061 * exponential_cdf(x, 0.0028)),
    "ymmr-ars": (None, lambda x: 0.982 * pareto_cdf(x, 1.5, 3.8) + 0.018 * exponential_cdf(x, 0.0217)),
}


def quantile(cdf, probability: float) -> float:
    low, high = 0.0, 1e7
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < probability else (low, middle)
    return high


@pytest.mark.parametrize("text", CLOSED_FORMS)
@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9, 0.99, 0.999])
def test_quantiles_are_those_of_the_distribution(text, probability):
    _, cdf = CLOSED_FORMS[text]
    bound_ms = quantile(cdf, probability)
    below = sum(delay_ms <= bound_ms for delay_ms in sample_ms(text))
    tolerance = SIGMAS * math.sqrt(DRAWS * probability * (1 - probability))
    assert abs(below - DRAWS * probability) <= tolerance


@pytest.mark.parametrize("text", [text for text, (moments, _) in CLOSED_FORMS.items() if moments])
def test_means_are_those_of_the_distribution(text):
    (mean_ms, deviation_ms), _ = CLOSED_FORMS[text]
    assert abs(sum(sample_ms(text)) / DRAWS - mean_ms) <= SIGMAS * deviation_ms / math.sqrt(DRAWS)


def test_the_quantile_check_would_notice_a_wrong_parameter():
    """The tolerance is tight enough to tell a p99 of 15 ms from one of 16 ms."""
    below = sum(delay_ms <= 15 for delay_ms in draws_ms(parse_lag("lognormal:2ms:16ms")))
    assert abs(below - 0.99 * DRAWS) > SIGMAS * math.sqrt(DRAWS * 0.99 * 0.01)


@pytest.mark.parametrize("text", [*CLOSED_FORMS, "0", "constant:2ms", "normal:0ms:5ms"])
def test_no_delay_is_negative_and_equal_seeds_give_equal_delays(text):
    lag = parse_lag(text)
    first = draws_ms(lag, 2_000, seed=7)
    assert min(first) >= 0
    assert draws_ms(lag, 2_000, seed=7) == first


def test_a_normal_lag_is_cut_off_at_zero():
    delays = draws_ms(parse_lag("normal:0ms:1ms"))
    assert abs(delays.count(0.0) - DRAWS / 2) <= SIGMAS * math.sqrt(DRAWS / 4)


def test_two_samplers_of_one_lag_share_nothing():
    lag = parse_lag("exponential:2ms")
    alone = draws_ms(lag, 10, seed=1)
    one, other = lag.sampler(Random(1)), lag.sampler(Random(2))
    interleaved = []
    for _ in range(10):
        other()
        interleaved.append(one() / 1e6)
    assert interleaved == alone


ROUND_TRIPS = {
    "0": "0",
    "constant:0ms": "0",
    "constant:2ms": "constant:2ms",
    "constant:500us": "constant:0.5ms",
    "constant:1.5s": "constant:1500ms",
    "constant:500µs": "constant:0.5ms",
    "0.3*constant:0 + 0.7*constant:1ms": "0.3*0 + 0.7*constant:1ms",
    "uniform:0:5ms": "uniform:0ms:5ms",
    "constant:2000s": "constant:2000000ms",
    "constant:0.01us": "constant:0.00001ms",
    "uniform:1ms:5ms": "uniform:1ms:5ms",
    "normal:2ms:0.5ms": "normal:2ms:0.5ms",
    "exponential:1234.5678ms": "exponential:1234.5678ms",
    "lognormal:2ms:15ms": "lognormal:2ms:15ms",
    "pareto:1ms:1.23456789": "pareto:1ms:1.23456789",
    "0.9*constant:1ms + 0.1*exponential:50ms": "0.9*constant:1ms + 0.1*exponential:50ms",
    "0.3333333*0+0.6666667*lnkd-ssd": "0.3333333*0 + 0.6666667*lnkd-ssd",
    "ymmr-w": "ymmr-w",
    "loopback": "loopback",
}


@pytest.mark.parametrize(("given", "written"), ROUND_TRIPS.items())
def test_a_lag_is_written_so_that_it_reads_back_as_itself(given, written):
    lag = parse_lag(given)
    assert str(lag) == written
    assert parse_lag(str(lag)) == lag
    assert str(parse_lag(str(lag))) == written
    assert draws_ms(parse_lag(written), 20) == draws_ms(lag, 20)


@pytest.mark.parametrize("text", ["0", "constant:0ms", "0.5*0 + 0.5*0", "constant:1us", "ymmr-w", "exponential:1ms"])
def test_a_lag_knows_whether_it_is_zero(text):
    assert parse_lag(text).zero is (max(draws_ms(parse_lag(text), 100)) == 0)


def test_a_duration_by_itself_is_a_constant_lag():
    assert parse_lag("2.5ms") == parse_lag("constant:2.5ms") == ConstantLag(2.5)
    assert str(parse_lag("0.5*2ms + 0.5*40us")) == "0.5*constant:2ms + 0.5*constant:0.04ms"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "unknown lag ''; accepted: 0, 2ms, constant:2ms"),
        ("gamma:2ms", "unknown lag 'gamma:2ms'; accepted: "),
        (
            "constant",
            "lag 'constant': expected a duration such as 2ms, 500us or 1s, at most 36525 days, got ''; accepted: ",
        ),
        ("uniform:1ms", "unknown lag 'uniform:1ms'; accepted: "),
        (
            "constant:-2ms",
            "lag 'constant:-2ms': expected a duration such as 2ms, 500us or 1s, at most 36525 days, got '-2ms'",
        ),
        ("constant:2", "expected a duration such as 2ms, 500us or 1s, at most 36525 days, got '2'"),
        ("constant:nanms", "got 'nanms'"),
        ("pareto:1ms:x", "lag 'pareto:1ms:x': expected a number from 0 to 1e+09, got 'x'"),
        ("pareto:1ms:inf", "expected a number from 0 to 1e+09, got 'inf'"),
        ("pareto:1ms:0", "shape of a Pareto lag must be above 0, got 0"),
        ("pareto:0ms:2", "scale of a Pareto lag must be above 0, got 0"),
        ("exponential:0ms", "mean of an exponential lag must be above 0, got 0"),
        ("uniform:5ms:1ms", "uniform lag needs low <= high, got 5ms and 1ms"),
        ("lognormal:15ms:2ms", "log-normal lag needs median <= p99, got 15ms and 2ms"),
        ("lognormal:0ms:2ms", "median of a log-normal lag must be above 0, got 0"),
        ("0.5*constant:1ms + constant:2ms", "each part of a mixture is WEIGHT*LAG with WEIGHT > 0, got 'constant:2ms'"),
        (f"constant:{'9' * 400}s", "expected a duration such as 2ms, 500us or 1s, at most 36525 days, got '9"),
        ("constant:3155760001s", "at most 36525 days, got '3155760001s'"),
        ("1e10*constant:1ms", "got '1e10*constant:1ms'"),
        ("0*constant:1ms + 1*constant:2ms", "got '0*constant:1ms'"),
        ("-1*constant:1ms", "got '-1*constant:1ms'"),
    ],
)
def test_bad_text_is_refused_with_what_was_given_and_what_is_accepted(text, complaint):
    with pytest.raises(ValueError, match=r".") as refusal:
        parse_lag(text)
    assert complaint in str(refusal.value)


def test_a_trace_is_replayed_in_order_and_round_again_from_a_drawn_position(tmp_path):
    path = tmp_path / "lags.csv"
    path.write_text("lag_ms\n1\n2.5\n\n3\n", encoding="utf-8")
    lag = parse_lag(f"trace:{path}")
    starts = set()
    for seed in range(20):
        delays = draws_ms(lag, 6, seed=seed)
        starts.add(delays[0])
        begin = [1, 2.5, 3].index(delays[0])
        assert delays == ([1, 2.5, 3] * 3)[begin : begin + 6]
    assert starts == {1, 2.5, 3}
    assert str(lag) == f"trace:{path}"
    assert parse_lag(str(lag)) == lag


def test_a_mixture_chooses_by_weight_whatever_the_weights_sum_to():
    lag = MixtureLag(((3.0, ConstantLag(1.0)), (1.0, ConstantLag(2.0))))
    ones = draws_ms(lag).count(1.0)
    assert abs(ones - 0.75 * DRAWS) <= SIGMAS * math.sqrt(DRAWS * 0.75 * 0.25)


def test_the_functions_and_the_text_make_the_same_lags():
    made = [uniform(1, 5), normal(2, 0.5), exponential(2), lognormal(2, 15), pareto(1, 1.5), ConstantLag(2)]
    assert [parse_lag(str(lag)) for lag in made] == made
    assert len({*made, *(parse_lag(str(lag)) for lag in made)}) == len(made)
