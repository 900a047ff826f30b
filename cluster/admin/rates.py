"""Recent rates at a port: the difference between a coordinator's counts now and a few seconds ago."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from zonelab.cluster.admin.latency import quantile_s

PERIOD_S = 1.0
SAMPLES = 5
"""Periods that count as recent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoordinatorCounts:
    """A coordinator's counts at one time; 0 for one that has just begun."""

    time_ns: int
    commands: int = 0
    errors: int = 0
    divergence: int = 0
    latencies: Sequence[int] = field(default_factory=list)

    @classmethod
    def of(cls, statistics: Mapping[str, Any], *, time_ns: int) -> "CoordinatorCounts":
        """Return the counts in an answer of ``GET /statistics``."""
        columns = zip_longest(*(one["counts"] for one in statistics["latency"]["histograms"]), fillvalue=0)
        return cls(
            time_ns=time_ns,
            commands=statistics["port"]["commands"],
            errors=errors_in(statistics),
            divergence=statistics["divergence"],
            latencies=[sum(column) for column in columns],
        )


class Recent:
    """The figures of the last ``SAMPLES`` periods, if ``sample`` is called once each period from ``time_ns`` on."""

    def __init__(self, *, time_ns: int) -> None:
        self._seen = deque([CoordinatorCounts(time_ns=time_ns)], maxlen=SAMPLES)

    def sample(self, now: CoordinatorCounts) -> None:
        self._seen.append(now)

    def until(self, now: CoordinatorCounts) -> dict[str, Any]:
        """``rates`` up to ``now``, and how many ``seconds`` they are about."""
        before = self._seen[0]
        return {"seconds": round((now.time_ns - before.time_ns) / 1e9, 1), **rates(before, now)}


def rates(before: CoordinatorCounts, now: CoordinatorCounts) -> dict[str, Any]:
    """Return what happened in between; a coordinator that was restarted has counted from 0, so some count is
    smaller.
    """
    latencies = [later - earlier for later, earlier in zip_longest(now.latencies, before.latencies, fillvalue=0)]
    if now.commands < before.commands or min(latencies, default=0) < 0:
        before, latencies = CoordinatorCounts(time_ns=before.time_ns), list(now.latencies)
    length_s = max(1, now.time_ns - before.time_ns) / 1e9
    return {
        "operations_per_s": (now.commands - before.commands) / length_s,
        "errors_per_s": (now.errors - before.errors) / length_s,
        "divergent_per_s": (now.divergence - before.divergence) / length_s,
        "p50_ms": _ms(quantile_s(latencies, 0.5)),
        "p99_ms": _ms(quantile_s(latencies, 0.99)),
    }


def errors_in(statistics: Mapping[str, Any]) -> int:
    """Commands answered with an error: by the port itself, by a vote or by a server."""
    voted = sum(counts["error_answers"] for counts in statistics["levels"].values())
    return int(statistics["port"]["error_replies"] + voted)


def _ms(latency_s: float | None) -> float | None:
    return None if latency_s is None else round(latency_s * 1e3, 3)
