"""Quantiles, their intervals, intervals of rates, and the distance of two samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval; ``low`` and ``high`` in the unit of the estimate."""

    low: float
    high: float


def quantiles(sample: ArrayLike, names: Sequence[str] = tuple(QUANTILES)) -> dict[str, float]:
    """Exact quantiles of a whole sample with linear interpolation (Hyndman-Fan type 7, as numpy and Spark do).

    An empty sample has none: the result is empty.
    """
    values = np.asarray(sample)
    if not values.size:
        return {}
    found = np.quantile(values, [QUANTILES[name] for name in names])
    return dict(zip(names, found.tolist(), strict=True))


def quantile_interval(sample: ArrayLike, probability: float, *, confidence: float = 0.95) -> Interval | None:
    """Distribution-free interval of a quantile from order statistics.

    The number of values below the true quantile is binomial, so two ranks enclose it with the wanted confidence
    (Hahn and Meeker, Statistical Intervals, chapter 5). ``None`` if the sample is too small for such ranks to exist.
    """
    _check_probability(probability)
    values = np.asarray(sample)
    tail = (1 - confidence) / 2
    low = _binomial_quantile(tail, values.size, probability) - 1
    high = _binomial_quantile(1 - tail, values.size, probability)
    if low < 0 or high >= values.size:
        return None
    part = np.partition(values, [low, high])
    return Interval(float(part[low]), float(part[high]))


def proportion_interval(hits: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Clopper-Pearson interval of a proportion: coverage is at least ``confidence`` for every true value."""
    if not 0 <= hits <= trials:
        raise ValueError(f"hits must be 0..{trials} (trials), got {hits}")
    if not trials:
        return Interval(0.0, 1.0)
    tail = (1 - confidence) / 2
    low = special.betaincinv(hits, trials - hits + 1, tail) if hits else 0.0
    high = special.betaincinv(hits + 1, trials - hits, 1 - tail) if hits < trials else 1.0
    return Interval(float(low), float(high))


def rate_interval(events: int, exposure: float, *, confidence: float = 0.95) -> Interval:
    """Exact Poisson interval (Garwood 1936) of events per unit of ``exposure``.

    For rates that may exceed one, such as extra deliveries per delivered message.
    """
    if events < 0 or exposure <= 0:
        raise ValueError(f"events must be >= 0 and exposure > 0, got {events} and {exposure}")
    tail = (1 - confidence) / 2
    low = special.gammaincinv(events, tail) if events else 0.0
    high = special.gammaincinv(events + 1, 1 - tail)
    return Interval(float(low / exposure), float(high / exposure))


def ks_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Kolmogorov-Smirnov distance: the largest gap between the two empirical distribution functions, 0..1."""
    one, two = np.sort(np.asarray(first)), np.sort(np.asarray(second))
    if not one.size or not two.size:
        raise ValueError("both samples must hold at least one value")
    at = np.concatenate([one, two])
    gap = np.searchsorted(one, at, side="right") / one.size - np.searchsorted(two, at, side="right") / two.size
    return float(np.abs(gap).max())


def empirical_cdf(sample: ArrayLike, *, points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most ``points`` (value, share of the sample at or below it) pairs, the first and last always among them."""
    values = np.sort(np.asarray(sample, dtype=np.float64))
    ranks = np.arange(values.size)
    if values.size > points:
        ranks = np.unique(np.linspace(0, values.size - 1, points).round().astype(np.int64))
    return values[ranks], (ranks + 1) / values.size


def _binomial_quantile(share: float, trials: int, probability: float) -> int:
    """The smallest number of successes whose cumulative probability is at least ``share``."""
    near = max(0, int(np.ceil(special.bdtrik(share, trials, probability)))) if trials else 0
    # The inverse is a root of a continuous extension: settle the last step on the exact distribution.
    while near and special.bdtr(near - 1, trials, probability) >= share:
        near -= 1
    while special.bdtr(near, trials, probability) < share:
        near += 1
    return near


def _check_probability(probability: float) -> None:
    if not 0 < probability < 1:
        raise ValueError(f"probability must be between 0 and 1, got {probability}")
