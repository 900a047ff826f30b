"""Prediction of what one stretch of time shows of a setting: intervals for figures of so many messages, not of a year.

Two things are uncertain: the rate, which runs know with an interval, and what chance makes of it among so many
messages. Each has half of the error. Cases come in clumps, whose number is Poisson distributed.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import UNAVAILABLE, Figure
from zonelab.analysis.rates.samples import Estimate

Floats = NDArray[np.float64]


def predicted(rates: SettingRates, figure: Figure, *, size: float, error: float) -> Estimate:
    """The figure of ``size`` messages or operations within ``rates.year``, outside by chance as rarely as ``error``.

    In seconds, or cases a message; ``size`` does not matter to seconds without service.
    """
    tail = rates.tail_of(figure)
    if tail is None:
        at_s, number = np.zeros(1), 1.0 if figure.name == UNAVAILABLE else size
        least = np.full(1, rates.year.run_s / 100 if figure.name == UNAVAILABLE else 1.0)
    else:
        at_s, number = tail.grid, size
        least = np.ones(1)
    if not at_s.size or not number:
        return Estimate(*(np.array(end) for end in (np.inf, 0.0, np.inf)))
    mean = rates.rate(figure, at_s=at_s, confidence=1 - error / 2)
    value, low, high = (np.broadcast_to(end, at_s.shape) for end in (mean.value, mean.low, mean.high))
    if tail is not None:
        least = 1 - np.minimum(high, 1.0)
    clump = np.maximum(np.broadcast_to(rates.dispersion(figure, at_s=at_s), at_s.shape), np.maximum(least, 1e-9))
    few, many = _counts(low * number, high * number, clump, error / 4)
    if tail is None:
        return Estimate(value[0], few[0] / number, many[0] / number)
    share = 1 - (figure.percentile or 0.0)
    ends = (tail.falls_to(each, share) for each in (value, few / number, many / number))
    return Estimate(*map(np.asarray, ends))


def quantile_s(times_s: ArrayLike, percentile: float) -> float:
    """The shortest of ``times_s`` that at most the rest of them exceed; infinite where one was not confirmed."""
    ordered = np.sort(np.asarray(times_s, dtype=np.float64))
    beyond = int(np.floor(ordered.size * (1 - percentile) + 1e-9))
    return float(ordered[ordered.size - 1 - min(beyond, ordered.size - 1)])


def _counts(low: Floats, high: Floats, clump: Floats, tail: float) -> tuple[Floats, Floats]:
    """Cases that are exceeded from below by chance of ``tail`` at the mean ``low``, and from above at ``high``."""
    few = np.ceil(special.pdtrik(tail, np.maximum(low / clump, 1e-12)))
    many = np.ceil(special.pdtrik(1 - tail, np.maximum(np.minimum(high, 1e18) / clump, 1e-12)))
    return few * clump, np.where(np.isinf(high), np.inf, many * clump)
