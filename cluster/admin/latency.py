"""Latency of commands at a port, in fixed logarithmic buckets, at next to no cost for the commands.

Every command is measured while they are few. When they are many, only some are, at distances drawn at random so that a
regular load cannot hide between them, and each stands for those that were passed over before it.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from zonelab.cluster.resp.server import RespServer
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import Done, GradualDone, Outcome
from zonelab.engine.ports import Reply

FIRST_S = 20e-6
"""Upper bound of the first bucket."""

PER_OCTAVE = 4
"""Buckets in which a latency doubles: a quantile is right to within 19 %."""

BUCKETS = 23 * PER_OCTAVE
"""The last bucket, above some 150 s, has no upper bound."""

BUSY_S = 0.001
"""Measurements closer together than this make the next ones rarer."""

DISTANCE_MAX = 63


def bucket_of(latency_s: float) -> int:
    """The number of the bucket that ``latency_s`` falls into, from 0."""
    if latency_s <= FIRST_S:
        return 0
    return min(BUCKETS - 1, math.ceil(PER_OCTAVE * math.log2(latency_s / FIRST_S)))


def upper_bound_s(bucket: int) -> float:
    """The largest latency in ``bucket``; infinite for the last."""
    return math.inf if bucket >= BUCKETS - 1 else float(FIRST_S * 2 ** (bucket / PER_OCTAVE))


@dataclass
class Histogram:
    """``counts`` of commands by bucket; ``sum_s`` of their latencies."""

    counts: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    sum_s: float = 0.0

    def add(self, latency_s: float, *, commands: int) -> None:
        self.counts[bucket_of(latency_s)] += commands
        self.sum_s += latency_s * commands

    @property
    def commands(self) -> int:
        return sum(self.counts)


def quantile_s(counts: list[int], share: float) -> float | None:
    """The upper bound of the bucket in which the quantile lies, None without any command."""
    wanted, seen = share * sum(counts), 0
    if not wanted:
        return None
    for bucket, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return float(FIRST_S * 2 ** (bucket / PER_OCTAVE))
    raise AssertionError(f"share {share} is above 1")


class LatencyProbe:
    """Measures commands of one port from their dispatch to their answer, by level, direction and outcome."""

    def __init__(self, *, random: Random, now_s: Callable[[], float] = time.perf_counter) -> None:
        self._random = random
        self._now_s = now_s
        self._last_s = -math.inf
        self._distance = 1
        self.histograms: dict[tuple[str, str, str], Histogram] = {}
        """By (level, ``read`` or ``write``, ``ok`` or ``error``)."""

    def attach(self, server: RespServer) -> None:
        server.sampler = lambda level, reads, done: self._sampled(server, level, reads, done)
        server.until_sample = self._distance

    def as_dict(self) -> list[dict[str, Any]]:
        """One entry a histogram; its last bucket that is not 0 ends the list of counts."""
        return [
            {"level": level, "kind": kind, "outcome": outcome, "sum_s": found.sum_s, "counts": _short(found.counts)}
            for (level, kind, outcome), found in sorted(self.histograms.items())
        ]

    def _sampled(self, server: RespServer, level: Level, reads: bool, done: Done) -> Done:  # noqa: FBT001
        begin_s, stands_for = self._now_s(), self._distance
        busy = begin_s - self._last_s < BUSY_S
        self._last_s = begin_s
        self._distance = server.until_sample = self._random.randint(1, DISTANCE_MAX) if busy else 1
        kind = "read" if reads else "write"

        def measured(outcome: Outcome) -> None:
            key = (level.value, kind, "ok" if outcome.__class__ is list else "error")
            histogram = self.histograms.get(key)
            if histogram is None:
                histogram = self.histograms[key] = Histogram()
            histogram.add(self._now_s() - begin_s, commands=stands_for)

        return _LatencyProbe(done, measured)


class _LatencyProbe(GradualDone):
    """``done``, whose outcome ``measured`` hears of first."""

    __slots__ = ("_done", "_measured")

    def __init__(self, done: Done, measured: Done) -> None:
        self._done = done
        self._measured = measured

    def __call__(self, outcome: Outcome) -> None:
        self._measured(outcome)
        self._done(outcome)

    def first(self, answers: Sequence[Reply]) -> None:
        assert isinstance(self._done, GradualDone), "a single command has no first answers"
        self._done.first(answers)


def _short(counts: list[int]) -> list[int]:
    used = max((bucket for bucket, count in enumerate(counts) if count), default=-1)
    return counts[: used + 1]
