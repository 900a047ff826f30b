"""Means of clustered counts, and the interval of a weighted sum of such means.

The unit is what is independent: a run, or a block of one. Its cases share its fault, so messages are no units.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """``units`` independent observations of one figure, or of several at once: then the fields are arrays.

    ``grain``: what one case counts, if a unit is a part of a run and is scaled to the whole.
    """

    units: int
    mean: Values
    variance: Values
    grain: float = 1.0

    @classmethod
    def of(cls, values: ArrayLike, *, grain: float = 1.0) -> Self:
        """One row a unit. Without units the mean is 0 and nothing bounds it."""
        rows = np.asarray(values, dtype=np.float64)
        if not len(rows):
            return cls(0, np.zeros(rows.shape[1:]), np.zeros(rows.shape[1:]), grain)
        spread = rows.var(axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1:])
        return cls(len(rows), rows.mean(axis=0), np.asarray(spread), grain)

    @property
    def clump(self) -> Values:
        """Return how many cases come together: variance over mean, which is 1 if each comes by itself; 0
        without cases.
        """
        return np.divide(self.variance, self.mean, out=np.zeros_like(self.mean), where=self.mean > 0)

    def bounds(self, confidence: float, clump: ArrayLike) -> tuple[Values, Values]:
        """The interval of a mean that is not negative.

        Cases are counted in clumps, whose number is about Poisson, and the exact Poisson interval (Garwood 1936) is
        widened as Student's is, as their size is an estimate. Without a case, ``clump`` is the size; 0: none is feared.
        """
        if self.units < 2:
            return np.zeros_like(self.mean), np.full_like(self.mean, np.inf)
        tail = (1 - confidence) / 2
        widened = (special.stdtrit(self.units - 1, 1 - tail) / special.ndtri(1 - tail)) ** 2
        # Equal values in all units do not prove that there are no others.
        size = np.maximum(self.clump, self.mean / self.units) * widened
        size = np.where(self.mean > 0, size, np.maximum(clump, np.finfo(float).tiny))
        clumps = self.units * self.mean / size
        low = np.where(self.mean > 0, special.gammaincinv(np.maximum(clumps, 1e-300), tail), 0.0)
        high = special.gammaincinv(clumps + 1, 1 - tail)
        return low * size / self.units, high * size / self.units


@dataclass(frozen=True, slots=True)
class WeightedSample:
    """A sample and how often it counts in a sum; a weight may be negative.

    ``feared``: how large a clump of cases is where none was seen; 0: where none was seen there is none.
    """

    sample: Sample
    weight: float
    feared: ArrayLike = 1.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; arrays if the samples are."""

    value: Values
    low: Values
    high: Values

    def of_messages(self) -> "Estimate":
        """Return a share of messages that counts each once at most: a finite upper end is that of all of them."""
        return replace(self, high=np.where(np.isfinite(self.high), np.minimum(self.high, 1.0), self.high))

    def to_json(self) -> dict[str, float | None]:
        """Return a single figure as JSON."""
        return {"value": finite(self.value), "low": finite(self.low), "high": finite(self.high)}


def finite(value: float | Values) -> float | None:
    """``value`` for JSON, which has no infinity: None."""
    number = float(value)
    return number if isfinite(number) else None


def weighted_sum(parts: Sequence[WeightedSample], *, confidence: float = 0.95) -> Estimate:
    """The sum of the weighted means, none of which is negative, and neither is the sum.

    The interval puts those of the parts together by the distances of their ends (Zou and Donner, Statistics in
    Medicine 27, 2008), which keeps their skewness.
    """
    counted = [part for part in parts if part.weight]
    if not counted:
        return Estimate(*np.zeros(3))
    none = np.zeros_like(counted[0].sample.mean)
    value = sum((part.weight * part.sample.mean for part in counted), none)
    below, above = none, none
    for part in counted:
        down, up = reaches(part, confidence=confidence)
        below, above = below + down**2, above + up**2
    low, high = value - np.sqrt(below), value + np.sqrt(above)
    return Estimate(np.maximum(value, 0.0), np.maximum(low, 0.0), np.maximum(high, 0.0))


def reaches(part: WeightedSample, *, confidence: float) -> tuple[Values, Values]:
    """Return how far the interval of one part of a sum reaches below and above its value."""
    low, high = part.sample.bounds(confidence, part.feared)
    down, up = abs(part.weight) * (part.sample.mean - low), abs(part.weight) * (high - part.sample.mean)
    return (down, up) if part.weight > 0 else (up, down)
