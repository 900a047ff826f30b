"""Stalls of the lab itself: on a starved machine it is the lab that is late, not the cluster."""

import asyncio
import time

INTERVAL_S = 0.02


class StallMonitor:
    """Wakes every 20 ms and remembers how late it was each time, between ``start`` and ``stop``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._late_ms: list[float] = []

    @property
    def longest_ms(self) -> float:
        return max(self._late_ms, default=0.0)

    @property
    def p99_ms(self) -> float:
        """Return the 99th percentile of the event loop's lateness in ms."""
        ordered = sorted(self._late_ms)
        return ordered[len(ordered) * 99 // 100] if ordered else 0.0

    def start(self) -> None:
        self._due_s = time.monotonic() + INTERVAL_S
        self._handle = self._loop.call_later(INTERVAL_S, self._look)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _look(self) -> None:
        self._late_ms.append((time.monotonic() - self._due_s) * 1000)
        self.start()
