"""One-way delays of a link: distributions, mixtures, published fits and recorded traces."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate
from random import Random
from typing import Protocol

from zonelab.engine.units import NS_PER_MS

_NORMAL_P99 = 2.3263478740408408  # 99th percentile of the standard normal distribution


class Lag(Protocol):
    """A source of one-way delays. Immutable; what a link draws from it lives in the sampler."""

    @property
    def zero(self) -> bool:
        """Every delay is 0."""

    def sampler(self, random: Random) -> Callable[[], int]:
        """A function that draws the next delay in nanoseconds, never negative."""


def _ns(duration_ms: float) -> int:
    return max(0, round(duration_ms * NS_PER_MS))


def _exact(number: float) -> str:
    """All digits and no exponent, so that the text reads back as the same number."""
    return f"{Decimal(repr(float(number))):f}".removesuffix(".0")


def _text(duration_ms: float) -> str:
    return f"{_exact(duration_ms)}ms"


@dataclass(frozen=True)
class ConstantLag:
    delay_ms: float = 0.0

    @property
    def zero(self) -> bool:
        return self.delay_ms == 0

    def sampler(self, random: Random) -> Callable[[], int]:
        delay_ns = _ns(self.delay_ms)
        return lambda: delay_ns

    def __str__(self) -> str:
        return "0" if self.zero else f"constant:{_text(self.delay_ms)}"


@dataclass(frozen=True)
class DrawnLag:
    """A lag whose every delay is an independent draw of ``draw_ms(random)``.

    ``form`` and ``numbers`` say which distribution that is, durations in ms; ``text`` is how it is written.
    """

    form: str
    numbers: tuple[float, ...]
    text: str
    draw_ms: Callable[[Random], float] = field(compare=False)
    zero: bool = False

    def sampler(self, random: Random) -> Callable[[], int]:
        draw_ms = self.draw_ms
        return lambda: _ns(draw_ms(random))

    def __str__(self) -> str:
        return self.text


def uniform(low_ms: float, high_ms: float) -> Lag:
    if low_ms > high_ms:
        raise ValueError(f"uniform lag needs low <= high, got {_text(low_ms)} and {_text(high_ms)}")
    text = f"uniform:{_text(low_ms)}:{_text(high_ms)}"
    return DrawnLag("uniform", (low_ms, high_ms), text, lambda random: random.uniform(low_ms, high_ms))


def normal(mean_ms: float, deviation_ms: float) -> Lag:
    text = f"normal:{_text(mean_ms)}:{_text(deviation_ms)}"
    return DrawnLag("normal", (mean_ms, deviation_ms), text, lambda random: random.gauss(mean_ms, deviation_ms))


def exponential(mean_ms: float) -> Lag:
    _positive("mean of an exponential lag", mean_ms)
    text = f"exponential:{_text(mean_ms)}"
    return DrawnLag("exponential", (mean_ms,), text, lambda random: random.expovariate(1 / mean_ms))


def lognormal(median_ms: float, p99_ms: float) -> Lag:
    _positive("median of a log-normal lag", median_ms)
    if p99_ms < median_ms:
        raise ValueError(f"log-normal lag needs median <= p99, got {_text(median_ms)} and {_text(p99_ms)}")
    mu, sigma = math.log(median_ms), math.log(p99_ms / median_ms) / _NORMAL_P99
    text = f"lognormal:{_text(median_ms)}:{_text(p99_ms)}"
    return DrawnLag("lognormal", (median_ms, p99_ms), text, lambda random: random.lognormvariate(mu, sigma))


def pareto(scale_ms: float, shape: float) -> Lag:
    _positive("scale of a Pareto lag", scale_ms)
    _positive("shape of a Pareto lag", shape)
    text = f"pareto:{_text(scale_ms)}:{_exact(shape)}"
    return DrawnLag("pareto", (scale_ms, shape), text, lambda random: scale_ms * random.paretovariate(shape))


def _positive(what: str, value: float) -> None:
    if value <= 0:
        raise ValueError(f"{what} must be above 0, got {value:g}")


@dataclass(frozen=True)
class MixtureLag:
    """Each delay comes from one of ``parts``, chosen with probability proportional to its weight."""

    parts: tuple[tuple[float, Lag], ...]

    @property
    def zero(self) -> bool:
        return all(lag.zero for _, lag in self.parts)

    def sampler(self, random: Random) -> Callable[[], int]:
        samplers = [lag.sampler(random) for _, lag in self.parts]
        bounds = list(accumulate(weight for weight, _ in self.parts))

        def draw() -> int:
            part = bisect_right(bounds, random.random() * bounds[-1])
            return samplers[min(part, len(samplers) - 1)]()

        return draw

    def __str__(self) -> str:
        return " + ".join(f"{_exact(weight)}*{lag}" for weight, lag in self.parts)


@dataclass(frozen=True)
class TraceLag:
    """Recorded delays, replayed in order and round again, so that their autocorrelation is kept."""

    path: str
    delays_ms: tuple[float, ...]

    @property
    def zero(self) -> bool:
        return not any(self.delays_ms)

    def sampler(self, random: Random) -> Callable[[], int]:
        delays_ns = [_ns(delay_ms) for delay_ms in self.delays_ms]
        position = random.randrange(len(delays_ns))

        def draw() -> int:
            nonlocal position
            position = (position + 1) % len(delays_ns)
            return delays_ns[position]

        return draw

    def __str__(self) -> str:
        return f"trace:{self.path}"


def _named(name: str, *parts: tuple[float, Lag]) -> Lag:
    mixture = MixtureLag(parts)
    return NamedLag(name, mixture)


@dataclass(frozen=True)
class NamedLag:
    """A lag that is written by its name."""

    name: str
    lag: Lag
    zero: bool = False

    def sampler(self, random: Random) -> Callable[[], int]:
        return self.lag.sampler(random)

    def __str__(self) -> str:
        return self.name


# PBS gives exponential rates in 1/ms; a mean is the inverse. The loopback was measured on 23 November 2026: 120 bytes
# from process to process over TCP on 127.0.0.1 on two cores, 12 turns with a program in C that slept in epoll_wait.
# Medians were 12 to 38 us, 99th percentiles of what took less than 1 ms 40 to 290 us; what took longer, 0 to 4 % of a
# turn, waited for a processor and is left out.
FITS: dict[str, Lag] = {
    "loopback": _named("loopback", (1, lognormal(0.025, 0.1))),
    "lnkd-ssd": _named("lnkd-ssd", (0.9122, pareto(0.235, 10)), (0.0878, exponential(1 / 1.66))),
    "lnkd-disk-w": _named("lnkd-disk-w", (0.38, pareto(1.05, 1.51)), (0.62, exponential(1 / 0.183))),
    "ymmr-w": _named("ymmr-w", (0.939, pareto(3, 3.35)), (0.061, exponential(1 / 0.0028))),
    "ymmr-ars": _named("ymmr-ars", (0.982, pareto(1.5, 3.8)), (0.018, exponential(1 / 0.0217))),
}
