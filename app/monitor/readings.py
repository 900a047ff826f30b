"""Last readings of several sources, each with its own time: one that does not answer makes no other figure old."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

SHARED_S = 0.5
"""A reading that is no older serves whoever asks next, so that two who ask each second cost one question."""

WAIT_S = 0.3
"""Wait of a page for sources that have not answered; their later answers are in the next reading."""


@dataclass(frozen=True, slots=True)
class GaugeReading(Generic[T]):
    """``value`` was so at ``time_ns`` of the clock of ``Readings``."""

    value: T
    time_ns: int


class Readings(Generic[T]):
    """``sources`` by name; each gives None if it cannot be asked now. No source is asked twice at the same time."""

    def __init__(self, sources: Mapping[str, Callable[[], Awaitable[T | None]]], *, now_ns: Callable[[], int]) -> None:
        self._sources = sources
        self._now_ns = now_ns
        self._asking: dict[str, asyncio.Task[None]] = {}
        self.latest: dict[str, GaugeReading[T]] = {}
        """Last reading of each source that ever answered."""

    async def look(self, *, within_s: float, shared_s: float = SHARED_S) -> dict[str, GaugeReading[T]]:
        """Ask all whose reading is older than ``shared_s``; returns what is fresh after ``within_s`` at most."""
        oldest_ns = self._now_ns() - round(shared_s * 1e9)
        for name in self._sources:
            known = self.latest.get(name)
            if name not in self._asking and (known is None or known.time_ns < oldest_ns):
                self._asking[name] = asyncio.create_task(self._ask(name))
        if self._asking:
            await asyncio.wait(self._asking.values(), timeout=within_s)
        return {name: reading for name, reading in self.latest.items() if reading.time_ns >= oldest_ns}

    def close(self) -> None:
        """Nobody is waited for any more."""
        for task in self._asking.values():
            task.cancel()

    async def _ask(self, name: str) -> None:
        try:
            value = await self._sources[name]()
            if value is not None:
                self.latest[name] = GaugeReading(value, self._now_ns())
        finally:
            del self._asking[name]
