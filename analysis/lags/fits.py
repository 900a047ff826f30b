"""Distributions fitted to measured delays by maximum likelihood, and how well each fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from zonelab.analysis.lags.distributions import (
    ConstantDelay,
    DelayMixture,
    Distribution,
    Exponential,
    Floats,
    LogNormal,
    Normal,
    Pareto,
    Uniform,
)

DIGITS = 4
"""Significant ones of a fitted parameter. How well it fits is said of the rounded one, which is what is written."""

LEAST_MS = 1e-6
"""A delay of 0 counts as a nanosecond: some distributions have no 0."""

_ROUNDS = 80
_CUTS = (0.5, 0.9, 0.99)
_FLAT = 1e-4


@dataclass(frozen=True, kw_only=True)
class Fit:
    """``distance``: of Kolmogorov and Smirnov; ``bic``: of Schwarz (Annals of Statistics 6, 1978), least is best."""

    distribution: Distribution
    distance: float
    bic: float


@dataclass(frozen=True)
class _Family:
    """A family: its most likely member for weighted delays, and the logarithm of a member's density."""

    parameters: int
    fitted: Callable[[Floats, Floats], Distribution]
    log_density: Callable[[Distribution, Floats], Floats]


def fits(delays_ms: ArrayLike) -> list[Fit]:
    """All forms of lag fitted to ``delays_ms``, the best first. Raises ``ValueError`` without delays."""
    values = np.maximum(np.asarray(delays_ms, dtype=np.float64), LEAST_MS)
    if not values.size:
        raise ValueError("delays_ms must hold at least one delay")
    if values.min() == values.max():
        return [Fit(distribution=ConstantDelay(float(values[0])), distance=0.0, bic=0.0)]
    ordered, equal = np.sort(values), np.ones(values.size)
    with np.errstate(divide="ignore"):
        found = [_fit(form.fitted(ordered, equal), form.parameters, form.log_density, ordered) for form in _FORMS]
        for one, other in _MIXTURES:
            mixed = _mixture(one, other, ordered)
            density = partial(_log_density_of_mixture, (one, other))
            found.append(_fit(mixed, one.parameters + other.parameters + 1, density, ordered))
    told_apart = [
        one for one in found if not isinstance(one.distribution, DelayMixture) or len(one.distribution.parts) > 1
    ]
    return sorted(told_apart, key=lambda fit: fit.bic)


def distance(ordered_ms: Floats, distribution: Distribution) -> float:
    """The largest gap between the distribution function of ordered delays and that of ``distribution``."""
    ranks = np.arange(ordered_ms.size + 1) / ordered_ms.size
    share = distribution.share_within(ordered_ms)
    return float(max((ranks[1:] - share).max(), (share - ranks[:-1]).max()))


def _fit(
    found: Distribution, parameters: int, log_density: Callable[[Distribution, Floats], Floats], ordered: Floats
) -> Fit:
    rounded = _rounded(found)
    likelihood = float(log_density(found, ordered).sum())
    bic = parameters * float(np.log(ordered.size)) - 2 * likelihood
    return Fit(distribution=rounded, distance=distance(ordered, rounded), bic=bic)


def _rounded(found: Distribution) -> Distribution:
    if isinstance(found, DelayMixture):
        share = round(found.parts[0][0], DIGITS)
        parts = [(weight, _rounded(part)) for weight, (_, part) in zip((share, 1 - share), found.parts, strict=True)]
        return DelayMixture(tuple((round(weight, DIGITS), part) for weight, part in parts if weight > 0))
    return type(found)(*(_significant(value) for value in vars(found).values()))


def _significant(value: float) -> float:
    return float(Decimal(f"{value:.{DIGITS - 1}e}"))


def _fit_uniform(values: Floats, weights: Floats) -> Distribution:
    return Uniform(float(values[0]), float(values[-1]))


def _fit_normal(values: Floats, weights: Floats) -> Distribution:
    return Normal(*_moments(values, weights))


def _fit_exponential(values: Floats, weights: Floats) -> Distribution:
    return Exponential(_moments(values, weights)[0])


def _fit_lognormal(values: Floats, weights: Floats) -> Distribution:
    mean, deviation = _moments(np.log(values), weights)
    return LogNormal.of_logs(mean, max(deviation, _FLAT))


def _fit_pareto(values: Floats, weights: Floats) -> Distribution:
    """Its scale is the least delay."""
    logs = np.log(values / values[0])
    return Pareto(float(values[0]), float(weights.sum() / max((weights * logs).sum(), _FLAT)))


def _moments(values: Floats, weights: Floats) -> tuple[float, float]:
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))


def _log_uniform(found: Distribution, values: Floats) -> Floats:
    assert isinstance(found, Uniform)
    return np.full(values.size, -np.log(found.high_ms - found.low_ms))


def _log_normal(found: Distribution, values: Floats) -> Floats:
    assert isinstance(found, Normal)
    return _log_gauss((values - found.mean_ms) / found.deviation_ms) - _log(found.deviation_ms)


def _log_exponential(found: Distribution, values: Floats) -> Floats:
    assert isinstance(found, Exponential)
    return -values / found.mean_ms - _log(found.mean_ms)


def _log_lognormal(found: Distribution, values: Floats) -> Floats:
    assert isinstance(found, LogNormal)
    logs, deviation = np.log(values), found.deviation_of_log
    return _log_gauss((logs - _log(found.median_ms)) / deviation) - _log(deviation) - logs


def _log_pareto(found: Distribution, values: Floats) -> Floats:
    assert isinstance(found, Pareto)
    logs: Floats = np.log(values / found.scale_ms)
    return _log(found.shape / found.scale_ms) - (found.shape + 1) * logs


def _log(number: float) -> float:
    return float(np.log(number))


def _log_gauss(deviates: Floats) -> Floats:
    found: Floats = -0.5 * deviates**2 - 0.5 * np.log(2 * np.pi)
    return found


_LOGNORMAL = _Family(2, _fit_lognormal, _log_lognormal)
_EXPONENTIAL = _Family(1, _fit_exponential, _log_exponential)
_PARETO = _Family(2, _fit_pareto, _log_pareto)
_FORMS = (
    _Family(2, _fit_uniform, _log_uniform),
    _Family(2, _fit_normal, _log_normal),
    _EXPONENTIAL,
    _LOGNORMAL,
    _PARETO,
)
_MIXTURES = ((_LOGNORMAL, _LOGNORMAL), (_LOGNORMAL, _EXPONENTIAL))


def _log_density_of_mixture(forms: Sequence[_Family], found: Distribution, values: Floats) -> Floats:
    assert isinstance(found, DelayMixture)
    parts = [
        np.log(weight) + form.log_density(part, values) for form, (weight, part) in zip(forms, found.parts, strict=True)
    ]
    both: Floats = np.logaddexp(*parts)
    return both


def _mixture(one: _Family, other: _Family, ordered: Floats) -> DelayMixture:
    """Expectation and maximisation in turn (Dempster, Laird and Rubin, 1977), from a few first guesses."""
    best, most = None, -np.inf
    for cut in _CUTS:
        in_one = np.where(np.arange(ordered.size) < cut * ordered.size, 0.95, 0.05)
        for _ in range(_ROUNDS):
            share = float(in_one.mean())
            parts = (share, one.fitted(ordered, in_one)), (1 - share, other.fitted(ordered, 1 - in_one))
            first = np.log(share) + one.log_density(parts[0][1], ordered)
            both = np.logaddexp(first, np.log(1 - share) + other.log_density(parts[1][1], ordered))
            in_one = np.clip(np.exp(first - both), 1e-9, 1 - 1e-9)
        if both.sum() > most:
            best, most = DelayMixture(parts), float(both.sum())
    assert best is not None
    return best
