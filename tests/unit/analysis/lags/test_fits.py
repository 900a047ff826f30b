"""Goal: a fitted lag is that from which delays were drawn. Method: delays drawn from each form; others beside it."""

import numpy as np
import pytest

from zonelab.analysis.figures.lag_plot import plot_lag
from zonelab.analysis.lags.distributions import (
    ConstantDelay,
    DelayMixture,
    Distribution,
    Exponential,
    LogNormal,
    Normal,
    Pareto,
    Uniform,
)
from zonelab.analysis.lags.fits import DIGITS, distance, fits
from zonelab.analysis.statistics import distribution_margin

DELAYS = 3_000
MARGIN = distribution_margin(DELAYS)

TRUE: tuple[Distribution, ...] = (
    Exponential(2.0),
    LogNormal(2.0, 15.0),
    Pareto(1.0, 2.5),
    Normal(20.0, 2.0),
    Uniform(1.0, 3.0),
    DelayMixture(((0.9, LogNormal(1.0, 1.5)), (0.1, LogNormal(10.0, 30.0)))),
)


def drawn(true: Distribution) -> np.ndarray:
    return true.draw(np.random.default_rng(1), DELAYS)


def numbers(distribution: Distribution) -> list[float]:
    if isinstance(distribution, DelayMixture):
        return [number for weight, part in distribution.parts for number in (weight, *numbers(part))]
    return list(vars(distribution).values())


@pytest.mark.parametrize("true", TRUE, ids=lambda true: true.text)
def test_the_form_and_the_numbers_are_found_again(true: Distribution) -> None:
    best, *others = fits(drawn(true))
    assert type(best.distribution) is type(true)
    assert numbers(best.distribution) == pytest.approx(numbers(true), rel=0.15)
    assert all(number == float(f"{number:.{DIGITS}g}") for number in numbers(best.distribution))
    assert best.distance <= MARGIN
    assert best.bic == min(fit.bic for fit in (best, *others))


def test_a_form_that_is_wrong_is_far_away() -> None:
    (wrong,) = (fit for fit in fits(drawn(LogNormal(2.0, 15.0))) if isinstance(fit.distribution, Normal))
    assert wrong.distance > 3 * MARGIN


def test_a_mixture_of_which_one_part_is_left_is_not_told_beside_that_part() -> None:
    mixtures = [fit.distribution for fit in fits([1.0, 1.1, 1.2]) if isinstance(fit.distribution, DelayMixture)]
    assert [len(mixture.parts) for mixture in mixtures] == [2]


def test_the_distance_is_that_of_kolmogorov_and_smirnov() -> None:
    assert distance(np.array([1.0, 2.0, 3.0, 4.0]), Uniform(0, 4)) == pytest.approx(0.25)
    assert distance(np.array([3.0, 3.5]), Uniform(0, 4)) == pytest.approx(0.75)


def test_equal_delays_are_a_constant_one_and_none_are_refused() -> None:
    (only,) = fits([2.0, 2.0, 2.0])
    assert (only.distribution, only.distance) == (ConstantDelay(2.0), 0.0)
    with pytest.raises(ValueError, match="at least one delay"):
        fits([])


@pytest.mark.parametrize("delays_ms", [[0.0, 0.001], [5.0, 5.0, 7.0], [2.0] * 3])
def test_few_and_tiny_delays_have_fits_and_a_figure(delays_ms: list[float], tmp_path) -> None:
    best = fits(delays_ms)[0]
    path = tmp_path / "lag.png"
    times_s = [0.01 * place for place in range(len(delays_ms))]
    plot_lag(delays_ms, times_s, best.distribution, path, headline="Lag", about="n", what="one way")
    assert path.read_bytes().startswith(b"\x89PNG")
