"""Traffic of the service: counts of its clients, and lines about them in its log."""

import logging
import time
from collections import Counter
from dataclasses import dataclass, field

from zonelab.cluster.admin.latency import Histogram

LOG = logging.getLogger("gmq.rpc")
SAY_EVERY_S = 1.0
"""A line for each kind of trouble at most so often; it says how many there were."""

METHODS = ("Push", "Pop", "Ack", "push", "pop", "finish", "delete", "get", "command")
OTHER = "other"
"""In place of what a client calls otherwise: clients must not choose the names of metrics' labels."""


@dataclass(slots=True)
class RequestTiming:
    """One request from its first byte to its answer."""

    traffic: "Traffic"
    method: str
    begin_s: float

    def end(self, outcome: str) -> None:
        self.traffic.requests[self.method, outcome] += 1
        self.traffic.latencies[self.method].add(time.perf_counter() - self.begin_s, commands=1)


@dataclass(slots=True)
class Traffic:
    """``requests`` by method and outcome, ``closings`` by reason."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    closings: Counter[str] = field(default_factory=Counter)
    latencies: dict[str, Histogram] = field(
        default_factory=lambda: {method: Histogram() for method in (*METHODS, OTHER)}
    )
    refusals: int = 0
    bugs: int = 0
    _said: dict[str, tuple[float, int]] = field(default_factory=dict)

    def begin(self, method: str) -> RequestTiming:
        name = method.removeprefix("Service.")
        return RequestTiming(self, name if name in METHODS else OTHER, time.perf_counter())

    def refused(self, port: str) -> None:
        """A client came when ``port`` had as many as it may have."""
        self.refusals += 1
        self._say(f"refused at {port}", f"refused a client at {port}: as many are connected as there may be")

    def closed(self, why: str) -> None:
        self.closings[why] += 1
        self._say(why, f"closed a client: {why}")

    def bug(self, where: str, error: BaseException) -> None:
        self.bugs += 1
        LOG.error("%s failed", where, exc_info=error)

    def _say(self, kind: str, line: str) -> None:
        now_s = time.monotonic()
        last_s, unsaid = self._said.get(kind, (-SAY_EVERY_S, 0))
        if now_s - last_s < SAY_EVERY_S:
            self._said[kind] = (last_s, unsaid + 1)
            return
        self._said[kind] = (now_s, 0)
        LOG.warning("%s%s", line, f" (and {unsaid} before)" if unsaid else "")
