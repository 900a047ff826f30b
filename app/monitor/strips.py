"""The last two minutes of a cluster for its live page: rates, errors, latency, depths of queues, and the faults."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LENGTH_MS = 120_000
APART_MS = 500
"""A sample that is no older serves whoever asks next: a page and a Prometheus may both ask each second."""

MEASURES = {"operations_per_s": "commands/s", "errors_per_s": "errors/s", "p99_ms": "p99, ms"}
"""Figures of a zone, and how a page names them."""

WAITING = "waiting messages"


@dataclass(slots=True)
class _FaultSpan:
    begin_ms: int
    end_ms: int | None


class Strips:
    """Samples by measure and by zone, or queue; a zone that did not answer has a point without a value.

    Times are those of the clock of whoever serves the page.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], deque[tuple[int, float | None]]] = defaultdict(deque)
        self._faults: dict[str, _FaultSpan] = {}

    def sample(
        self,
        now_ms: int,
        *,
        zones: Iterable[Mapping[str, Any]] = (),
        queues: Iterable[Mapping[str, Any]] = (),
        faults: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Keep what is so now; ``zones`` have the figures of ``MEASURES``, ``queues`` and ``faults`` are as shown."""
        for zone in zones:
            for name, words in MEASURES.items():
                self._add((words, zone["zone"]), now_ms, zone.get(name))
        for queue in queues:
            waiting = [(row["due"] or 0) + (row["delayed"] or 0) for row in queue["zones"] if row["due"] is not None]
            self._add((WAITING, queue["queue"]), now_ms, max(waiting, default=None))
        self._keep(now_ms, {one["fault"]: round(now_ms - one["since_s"] * 1e3) for one in faults})

    def _add(self, line: tuple[str, str], now_ms: int, value: float | None) -> None:
        points = self._lines[line]
        if not points or now_ms - points[-1][0] > APART_MS:
            points.append((now_ms, value))
        while points[0][0] < now_ms - LENGTH_MS:
            points.popleft()

    def _keep(self, now_ms: int, begun_ms: Mapping[str, int]) -> None:
        """Note which faults began, and that those that are no longer in force ended."""
        for name, begin_ms in begun_ms.items():
            self._faults.setdefault(name, _FaultSpan(begin_ms, None))
        for name, span in list(self._faults.items()):
            if name not in begun_ms and span.end_ms is None:
                span.end_ms = now_ms
            if span.end_ms is not None and span.end_ms < now_ms - LENGTH_MS:
                del self._faults[name]

    def shown(self, now_ms: int) -> dict[str, Any]:
        """Return the lines and the faults of the last ``LENGTH_MS``, as the page draws them."""
        since_ms = now_ms - LENGTH_MS
        strips: dict[str, dict[str, list[tuple[int, float | None]]]] = {}
        for (measure, name), points in self._lines.items():
            if kept := [point for point in points if point[0] >= since_ms]:
                strips.setdefault(measure, {})[name] = kept
        spans = [
            {"fault": name, "begin_ms": max(span.begin_ms, since_ms), "end_ms": span.end_ms}
            for name, span in self._faults.items()
        ]
        return {"since_ms": since_ms, "strips": strips, "faults": spans}
