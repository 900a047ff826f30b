"""Samples of each zone, a second at a time: differences between what the coordinators counted."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zonelab.app.monitor.readings import SHARED_S, GaugeReading, Readings
from zonelab.app.session.coordinator_process import CALL_S, CoordinatorProcess
from zonelab.app.session.recording import SessionRecording
from zonelab.cluster.admin.rates import PERIOD_S, CoordinatorCounts, rates
from zonelab.cluster.real.zones.zone_set import ZoneSet


class Sampler:
    """Asks all coordinators every period, records a row a zone, and tells ``sampled``."""

    def __init__(
        self,
        *,
        zones: ZoneSet,
        coordinators: Mapping[str, CoordinatorProcess],
        recording: SessionRecording,
        sampled: Callable[[Sequence[Mapping[str, Any]]], None],
    ) -> None:
        self._zones = zones
        self._coordinators = coordinators
        self._recording = recording
        self._sampled = sampled
        self._seen = {zone: CoordinatorCounts(time_ns=0) for zone in coordinators}
        self.answers: Readings[dict[str, Any]] = Readings(
            {zone: coordinator.statistics for zone, coordinator in coordinators.items()}, now_ns=recording.now_ns
        )
        """Statistics of each coordinator, by run time."""

    @property
    def latest(self) -> dict[str, Any]:
        """Return what each coordinator that ever answered counted last."""
        return {zone: reading.value for zone, reading in self.answers.latest.items()}

    async def run(self) -> None:
        """For ever."""
        loop, turn = asyncio.get_running_loop(), 0
        next_s = loop.time()
        while True:
            turn += 1
            if turn % self._recording.period == 0:
                rows = await self.ask()
                self._sampled(rows)
                await self._recording.sample(rows)
            next_s = max(next_s + PERIOD_S, loop.time())
            await asyncio.sleep(next_s - loop.time())

    async def ask(self, *, shared_s: float = SHARED_S) -> list[dict[str, Any]]:
        """One round, with answers that are no older than ``shared_s``."""
        fresh = await self.answers.look(within_s=CALL_S, shared_s=shared_s)
        return [self._row(zone, fresh.get(zone)) for zone in self._coordinators]

    def _row(self, zone: str, fresh: GaugeReading[dict[str, Any]] | None) -> dict[str, Any]:
        row: dict[str, Any] = {
            "time_ns": self._recording.now_ns(),
            "zone": zone,
            "server": self._zones[zone].state.value,
            "coordinator": self._coordinators[zone].state.value,
        }
        if fresh is not None:
            answer = fresh.value
            now = CoordinatorCounts.of(answer, time_ns=fresh.time_ns)
            row.update(rates(self._seen[zone], now))
            self._seen[zone] = now
            row["clients"] = answer["port"]["clients"]
            row["in_flight"] = sum(link["in_flight"] for link in answer["links"])
        return row
