"""How each zone does, a second at a time: differences between what the coordinators counted."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from cluster.admin.latency import quantile_s
from cluster.real.zones.zone_set import ZoneSet
from scenarios.session.coordinator_process import CoordinatorProcess
from scenarios.session.recording import Recording

PERIOD_S = 1.0
RECENT = 5
"""So many samples back begins what is recent: 5 s, or longer in a long session, whose samples are further apart."""


@dataclass
class _Seen:
    """What a coordinator had counted when it was last asked; 0 for one that began since then."""

    time_ns: int = 0
    commands: int = 0
    errors: int = 0
    divergence: int = 0
    latencies: list[int] = field(default_factory=list)


class Sampler:
    """Asks all coordinators every period and records a row a zone."""

    def __init__(self, *, zones: ZoneSet, coordinators: Mapping[str, CoordinatorProcess], recording: Recording) -> None:
        self._zones = zones
        self._coordinators = coordinators
        self._recording = recording
        self._seen = {zone: deque([_Seen()], maxlen=RECENT) for zone in coordinators}
        self.latest: dict[str, Any] = {}
        """What each coordinator that ever answered counted last."""

    async def run(self) -> None:
        """For ever."""
        loop, turn = asyncio.get_running_loop(), 0
        next_s = loop.time()
        while True:
            turn += 1
            if turn % self._recording.period == 0:
                await self._recording.sample(await self.ask())
            next_s = max(next_s + PERIOD_S, loop.time())
            await asyncio.sleep(next_s - loop.time())

    async def ask(self) -> list[dict[str, Any]]:
        """One round."""
        answers = await asyncio.gather(*(one.statistics() for one in self._coordinators.values()))
        return [self._row(zone, answer) for zone, answer in zip(self._coordinators, answers, strict=True)]

    def _row(self, zone: str, answer: dict[str, Any] | None) -> dict[str, Any]:
        now_ns = self._recording.now_ns()
        row: dict[str, Any] = {
            "time_ns": now_ns,
            "zone": zone,
            "server": self._zones[zone].state.value,
            "coordinator": self._coordinators[zone].state.value,
        }
        if answer is not None:
            self.latest[zone] = answer
            now = _counted(answer, now_ns)
            row.update(_rates(self._seen[zone][-1], now))
            self._seen[zone].append(now)
            row["clients"] = answer["port"]["clients"]
            row["in_flight"] = sum(link["in_flight"] for link in answer["links"])
        return row

    def recent(self, zone: str, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The same figures as in a row, of the last few seconds before ``answer``, and how many these are."""
        now, before = _counted(answer, self._recording.now_ns()), self._seen[zone][0]
        return {"seconds": round((now.time_ns - before.time_ns) / 1e9, 1), **_rates(before, now)}


def _rates(before: _Seen, now: _Seen) -> dict[str, Any]:
    """What happened in between; a coordinator that was restarted has counted from 0, so some count is smaller."""
    latencies = _differences(now.latencies, before.latencies)
    if now.commands < before.commands or min(latencies, default=0) < 0:
        before, latencies = _Seen(time_ns=before.time_ns), now.latencies
    length_s = (now.time_ns - before.time_ns) / 1e9
    return {
        "operations_per_s": (now.commands - before.commands) / length_s,
        "errors_per_s": (now.errors - before.errors) / length_s,
        "divergent_per_s": (now.divergence - before.divergence) / length_s,
        "p50_ms": _ms(quantile_s(latencies, 0.5)),
        "p99_ms": _ms(quantile_s(latencies, 0.99)),
    }


def _differences(later: Sequence[int], earlier: Sequence[int]) -> list[int]:
    return [one - two for one, two in zip_longest(later, earlier, fillvalue=0)]


def errors_in(statistics: Mapping[str, Any]) -> int:
    """Commands answered with an error: by the port itself, by a vote or by a server."""
    voted = sum(counts["error_answers"] for counts in statistics["levels"].values())
    return int(statistics["port"]["error_replies"] + voted)


def _counted(answer: Mapping[str, Any], now_ns: int) -> _Seen:
    columns = zip_longest(*(one["counts"] for one in answer["latency"]["histograms"]), fillvalue=0)
    return _Seen(
        time_ns=now_ns,
        commands=answer["port"]["commands"],
        errors=errors_in(answer),
        divergence=answer["divergence"],
        latencies=[sum(column) for column in columns],
    )


def _ms(latency_s: float | None) -> float | None:
    return None if latency_s is None else round(latency_s * 1e3, 3)
