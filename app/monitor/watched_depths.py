"""A queue whose adapter has no places, such as a user's own: its depths, and a search through its end state."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from zonelab.app.monitor.readings import WAIT_S, Readings
from zonelab.engine.ports import PortError
from zonelab.scenarios.queues.under_test import Depth, QueueUnderTest

SEARCHED_MAX = 10_000
"""Entries of a zone that are searched for a message: each question reads them anew."""


@dataclass
class WatchedDepths:
    """A ``WatchedQueue`` that knows less: what the zone that serves a shard lists of it."""

    name: str
    engine: str
    queue: QueueUnderTest
    zones: Sequence[str]
    _readings: Readings[Depth] = field(init=False)

    def __post_init__(self) -> None:
        self._readings = Readings({shard: self._reader(shard) for shard in self.queue.shards}, now_ns=time.time_ns)

    async def look(self) -> None:
        await self._readings.look(within_s=WAIT_S)

    def close(self) -> None:
        self._readings.close()

    def shown(self) -> dict[str, Any]:
        """Return what the live page shows of the queue: a row for each shard, waiting and leased apart."""
        rows = [
            {
                "key": shard,
                "holds": holds,
                "shard": shard,
                "zone": self.queue.shards[shard],
                "entries": entries,
                "due": None,
                "next_ms": None,
                "read_ms": reading.time_ns // 1_000_000,
            }
            for shard, reading in self._readings.latest.items()
            for holds, entries in (("queue", reading.value.waiting), ("unack", reading.value.leased))
        ]
        shown = {"queue": self.name, "engine": self.engine, "shards": rows, "keys": rows}
        return {**shown, "zones": [], "ids": None, "keys_left_out": 0}

    async def find(self, message_id: str) -> list[dict[str, Any]]:
        """Find a message; see ``WatchedQueue.find``."""
        found: list[dict[str, Any]] = []
        for zone in self.zones:
            try:
                found += await self._found(zone, message_id)
            except PortError as error:
                found.append({"zone": zone, "read_ms": None, "error": str(error)})
        return found

    def _reader(self, shard: str) -> Callable[[], Awaitable[Depth | None]]:
        async def read() -> Depth | None:
            try:
                return await self.queue.depth(shard)
            except PortError:
                return None

        return read

    async def _found(self, zone: str, message_id: str) -> list[dict[str, Any]]:
        found, searched = [], 0
        async for row in self.queue.final_state(zone):
            searched += 1
            if searched > SEARCHED_MAX:
                return [{"zone": zone, "read_ms": _now_ms(), "error": f"more than {SEARCHED_MAX:,} entries"}]
            if row["message_id"] == message_id:
                place = {"holds": row["place"], "shard": row["shard"], "key": row["shard"], "at_ms": row["score"]}
                found.append({"zone": zone, **place, "read_ms": _now_ms()})
        return found or [{"zone": zone, "holds": None, "read_ms": _now_ms()}]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
