"""Distributions of delays in milliseconds, many draws at once, each with the text by which a scenario names it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]

_NORMAL_P99 = float(special.ndtri(0.99))
_HALVINGS = 200


class Distribution(Protocol):
    """A source of independent delays, never negative."""

    @property
    def text(self) -> str:
        """Return how a scenario writes it."""

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats: ...

    def share_within(self, at_ms: ArrayLike) -> Floats:
        """The distribution function: the probability of at most ``at_ms``."""


def quantiles_ms(distribution: Distribution, probabilities: ArrayLike) -> Floats:
    """The least delay whose ``share_within`` is at least each probability below 1, to the last digits of a float."""
    wanted = np.asarray(probabilities, dtype=np.float64)
    low, high = np.zeros_like(wanted), np.ones_like(wanted)
    while (short := distribution.share_within(high) < wanted).any():
        high = np.where(short, high * 2, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = distribution.share_within(middle) >= wanted
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high


@dataclass(frozen=True)
class ConstantDelay:
    delay_ms: float = 0.0

    @property
    def text(self) -> str:
        return f"constant:{_ms(self.delay_ms)}" if self.delay_ms else "0"

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return np.full(shape, self.delay_ms, dtype=np.float64)

    def share_within(self, at_ms: ArrayLike) -> Floats:
        return (np.asarray(at_ms) >= self.delay_ms).astype(np.float64)


@dataclass(frozen=True)
class Uniform:
    low_ms: float
    high_ms: float

    @property
    def text(self) -> str:
        return f"uniform:{_ms(self.low_ms)}:{_ms(self.high_ms)}"

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return rng.uniform(self.low_ms, self.high_ms, shape)

    def share_within(self, at_ms: ArrayLike) -> Floats:
        width_ms = max(self.high_ms - self.low_ms, np.finfo(np.float64).tiny)
        found: Floats = np.clip((np.asarray(at_ms, dtype=np.float64) - self.low_ms) / width_ms, 0, 1)
        return found


@dataclass(frozen=True)
class Normal:
    """Cut off at 0."""

    mean_ms: float
    deviation_ms: float

    @property
    def text(self) -> str:
        return f"normal:{_ms(self.mean_ms)}:{_ms(self.deviation_ms)}"

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return np.maximum(rng.normal(self.mean_ms, self.deviation_ms, shape), 0)

    def share_within(self, at_ms: ArrayLike) -> Floats:
        at = np.asarray(at_ms, dtype=np.float64)
        if self.deviation_ms == 0:
            return (at >= self.mean_ms).astype(np.float64)
        return np.where(at < 0, 0, special.ndtr((at - self.mean_ms) / self.deviation_ms))


@dataclass(frozen=True)
class Exponential:
    mean_ms: float

    @property
    def text(self) -> str:
        return f"exponential:{_ms(self.mean_ms)}"

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return self.of_exponentials(rng.standard_exponential(shape))

    def of_exponentials(self, drawn: Floats) -> Floats:
        """Return draws of this distribution, computed from draws of the exponential distribution with mean 1."""
        return drawn * self.mean_ms

    def share_within(self, at_ms: ArrayLike) -> Floats:
        found: Floats = -np.expm1(-np.maximum(np.asarray(at_ms, dtype=np.float64), 0) / self.mean_ms)
        return found


@dataclass(frozen=True)
class LogNormal:
    median_ms: float
    p99_ms: float

    @property
    def text(self) -> str:
        return f"lognormal:{_ms(self.median_ms)}:{_ms(self.p99_ms)}"

    @property
    def deviation_of_log(self) -> float:
        return float(np.log(self.p99_ms / self.median_ms)) / _NORMAL_P99

    @classmethod
    def of_logs(cls, mean: float, deviation: float) -> "LogNormal":
        """By mean and standard deviation of the logarithms of delays in ms."""
        return cls(float(np.exp(mean)), float(np.exp(mean + _NORMAL_P99 * deviation)))

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return rng.lognormal(np.log(self.median_ms), self.deviation_of_log, shape)

    def share_within(self, at_ms: ArrayLike) -> Floats:
        at = np.asarray(at_ms, dtype=np.float64)
        if self.deviation_of_log == 0:
            return (at >= self.median_ms).astype(np.float64)
        logs = np.log(np.maximum(at, np.finfo(np.float64).tiny) / self.median_ms)
        found: Floats = special.ndtr(logs / self.deviation_of_log)
        return found


@dataclass(frozen=True)
class Pareto:
    scale_ms: float
    shape: float

    @property
    def text(self) -> str:
        return f"pareto:{_ms(self.scale_ms)}:{_exact(self.shape)}"

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return self.of_exponentials(rng.standard_exponential(shape))

    def of_exponentials(self, drawn: Floats) -> Floats:
        """Return draws of this distribution, computed from draws of the exponential distribution with mean 1."""
        return self.scale_ms * np.exp(drawn / self.shape)

    def share_within(self, at_ms: ArrayLike) -> Floats:
        return 1 - (self.scale_ms / np.maximum(np.asarray(at_ms, dtype=np.float64), self.scale_ms)) ** self.shape


@dataclass(frozen=True)
class DelayMixture:
    """Each delay comes from one of ``parts``, chosen with probability proportional to its weight."""

    parts: tuple[tuple[float, Distribution], ...]

    @property
    def text(self) -> str:
        return " + ".join(f"{_exact(weight)}*{part.text}" for weight, part in self.parts)

    @cached_property
    def _shares(self) -> Floats:
        weights = np.array([weight for weight, _ in self.parts], dtype=np.float64)
        shares: Floats = weights / weights.sum()
        return shares

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        size = (shape,) if isinstance(shape, int) else shape
        chosen = rng.random(size)
        bounds = np.cumsum(self._shares)
        # One draw serves every part that is made of an exponential, which halves the work for the fits of PBS.
        shared = rng.standard_exponential(size)
        found = self._drawn(rng, self.parts[-1][1], shared)
        for bound, (_, part) in zip(bounds[-2::-1], self.parts[-2::-1], strict=True):
            found = np.where(chosen < bound, self._drawn(rng, part, shared), found)
        return found

    @staticmethod
    def _drawn(rng: np.random.Generator, part: Distribution, shared: Floats) -> Floats:
        if isinstance(part, Exponential | Pareto):
            return part.of_exponentials(shared)
        return part.draw(rng, shared.shape)

    def share_within(self, at_ms: ArrayLike) -> Floats:
        parts = [share * part.share_within(at_ms) for share, (_, part) in zip(self._shares, self.parts, strict=True)]
        found: Floats = np.sum(parts, axis=0)
        return found


@dataclass(frozen=True, eq=False)
class RecordedDelays:
    """The delays of a trace, drawn independently: their order, which a link keeps, is not kept."""

    path: str
    delays_ms: Sequence[float] = field(repr=False)

    @property
    def text(self) -> str:
        return f"trace:{self.path}"

    @cached_property
    def _ordered(self) -> Floats:
        return np.sort(np.asarray(self.delays_ms, dtype=np.float64))

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return self._ordered[rng.integers(0, self._ordered.size, shape)]

    def share_within(self, at_ms: ArrayLike) -> Floats:
        found: Floats = np.searchsorted(self._ordered, np.asarray(at_ms), side="right") / self._ordered.size
        return found


@dataclass(frozen=True)
class Longer:
    """Delays of ``base``, each longer by ``by_ms``."""

    base: Distribution
    by_ms: float

    @property
    def text(self) -> str:
        return f"{self.base.text}, and {_ms(self.by_ms)} more"

    def draw(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
        return self.base.draw(rng, shape) + self.by_ms

    def share_within(self, at_ms: ArrayLike) -> Floats:
        return self.base.share_within(np.asarray(at_ms, dtype=np.float64) - self.by_ms)


def _exact(number: float) -> str:
    """All digits and no exponent, so that the text reads back as the same number."""
    return f"{Decimal(repr(float(number))):f}".removesuffix(".0")


def _ms(duration_ms: float) -> str:
    return f"{_exact(duration_ms)}ms"
