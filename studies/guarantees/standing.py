"""What drawn runs of ordered messages tell beside what they broke: opportunities to break it, and standstills."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Self

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.runs.fault_bands import FaultBand, fault_bands
from zonelab.analysis.runs.info import NANOSECONDS_PER_MS
from zonelab.scenarios.run.trial import QueueTrial
from zonelab.scenarios.run_files.tables import FAULTS_NAME

NO_FAULT = "none"
_LATER = ("program_pause", "consumer_crash", "producer_crash", "service_crash", "clock")
"""A standstill has a fault of a zone or link as its own first, then one of a program, then wrong clocks, all along."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stood:
    """One partition stood still. ``fault``: the kind in force meanwhile. ``lasted_ms``: None if it did to the end."""

    cause: str
    fault: str
    lasted_ms: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderShown:
    """Of one run. ``opportunities``: to break each property, by name."""

    opportunities: Mapping[str, int]
    stood: tuple[Stood, ...]

    @classmethod
    def of(cls, trial: QueueTrial) -> Self | None:
        """None if nothing was judged of order."""
        verdict = None if trial.verdict is None else trial.verdict.order
        if verdict is None:
            return None
        table = trial.tables.tables.get(FAULTS_NAME)
        bands = [] if table is None else fault_bands(table.batch().to_pylist())
        stood = tuple(
            Stood(
                cause=str(one.cause),
                fault=_fault_of(bands, one.begin_ns, one.end_ns),
                lasted_ms=None if one.end_ns is None else (one.end_ns - one.begin_ns) / NANOSECONDS_PER_MS,
            )
            for one in verdict.blocked
        )
        return cls(opportunities=dict(verdict.opportunities), stood=stood)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        return cls(opportunities=told["opportunities"], stood=tuple(Stood(**one) for one in told["stood"]))


@dataclass(slots=True)
class OrderTotals:
    """Of the runs of one cell. ``stood``: (cause, fault) → seed and length of each standstill."""

    opportunities: Counter[str] = field(default_factory=Counter)
    stood: dict[tuple[str, str], list[tuple[int, float | None]]] = field(default_factory=dict)

    def add(self, seed: int, shown: OrderShown) -> None:
        self.opportunities.update({name: shown.opportunities.get(name, 0) for name in map(str, Property)})
        for one in shown.stood:
            self.stood.setdefault((one.cause, one.fault), []).append((seed, one.lasted_ms))

    @property
    def seeds(self) -> int:
        """In how many runs a partition stood still."""
        return len({seed for each in self.stood.values() for seed, _ in each})

    def in_words(self) -> str:
        """How often each property could have been broken, and which were not tried."""
        told = ", ".join(f"{name} {self.opportunities[name]:,}" for name in Property if self.opportunities[name])
        never = ", ".join(name for name in Property if not self.opportunities[name])
        return f"opportunities: {told}" + (f"; not exercised: {never}" if never else "")

    def rows(self) -> Iterator[list[str]]:
        """Of a table with ``HEADINGS``, the most frequent first."""
        for (cause, fault), each in sorted(self.stood.items(), key=lambda item: (-len(item[1]), item[0])):
            ended = [lasted for _, lasted in each if lasted is not None]
            lengths = [f"{median(ended):,.0f} ms", f"{max(ended):,.0f} ms"] if ended else ["", ""]
            seeds = len({seed for seed, _ in each})
            yield [cause, fault, f"{len(each):,}", f"{seeds:,}", *lengths, f"{len(each) - len(ended):,}"]

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {
                "cause": cause,
                "fault": fault,
                "seeds": sorted({seed for seed, _ in each}),
                "lasted_ms": [ms for _, ms in each],
            }
            for (cause, fault), each in sorted(self.stood.items())
        ]


HEADINGS = ("cause", "fault", "standstills", "seeds", "median", "longest", "to the end")


def _fault_of(bands: Iterable[FaultBand], begin_ns: int, end_ns: int | None) -> str:
    """The kind in force in that time that comes first as ``_LATER`` says."""
    met = [
        band.kind
        for band in bands
        if (end_ns is None or band.begin_ns <= end_ns) and (band.end_ns is None or band.end_ns >= begin_ns)
    ]
    return min(met, key=lambda kind: _LATER.index(kind) if kind in _LATER else -1, default=NO_FAULT)
