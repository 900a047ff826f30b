"""Intervals of proportions, exact and without a library that is slow to load: every page and table has them."""

from dataclasses import dataclass
from math import exp, lgamma, log, log1p

_NEGLIGIBLE = 1e-17


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval; ``low`` and ``high`` in the unit of the estimate."""

    low: float
    high: float


def proportion_interval(hits: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Clopper-Pearson interval of a proportion: coverage is at least ``confidence`` for every true value.

    Clopper and Pearson, Biometrika 26, 1934. Raises ``ValueError``.
    """
    if not 0 <= hits <= trials:
        raise ValueError(f"hits must be 0..{trials} (trials), got {hits}")
    tail = (1 - confidence) / 2
    return Interval(1 - _upper(trials - hits, trials, tail), _upper(hits, trials, tail))


def share_json(hits: int, trials: int) -> dict[str, float] | None:
    """The interval as JSON has it; None where there are no trials."""
    if not trials:
        return None
    interval = proportion_interval(hits, trials)
    return {"low": interval.low, "high": interval.high}


def _upper(hits: int, trials: int, tail: float) -> float:
    """The proportion at which at most ``hits`` of ``trials`` have the probability ``tail``; found by halving."""
    if hits == trials:
        return 1.0
    low, high = hits / trials, 1.0
    while low < (middle := (low + high) / 2) < high:
        if _at_most(hits, trials, middle) > tail:
            low = middle
        else:
            high = middle
    return high


def _at_most(hits: int, trials: int, share: float) -> float:
    """The probability of at most ``hits``, whose terms get smaller below: ``share`` is more than hits / trials."""
    ways = lgamma(trials + 1) - lgamma(hits + 1) - lgamma(trials - hits + 1)
    term = exp(ways + hits * log(share) + (trials - hits) * log1p(-share))
    total, odds = term, (1 - share) / share
    for fewer in range(hits, 0, -1):
        term *= odds * fewer / (trials - fewer + 1)
        total += term
        if term < _NEGLIGIBLE * total:
            break
    return total
