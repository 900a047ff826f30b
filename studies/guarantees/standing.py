"""Further results of drawn runs of ordered messages: opportunities to break it, and standstills."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.number_text import digits
from zonelab.analysis.observation import Observation
from zonelab.analysis.runs.fault_bands import FaultBand, fault_bands
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.run.trial import Trial
from zonelab.scenarios.run_files.tables import FAULTS_NAME

NO_FAULT = "none"
_LATER = ("program_pause", "consumer_crash", "producer_crash", "service_crash", "clock")
"""A standstill has a fault of a zone or link as its own first, then one of a program, then wrong clocks, all along."""


STANDSTILLS = "standstills"
"""Samples of a run: cause, kind of the fault in force, and length in ms, which is None if it lasted to the end."""


def order_of(trial: Trial) -> tuple[Mapping[str, float], Mapping[str, Sequence[Any]]]:
    """Return the opportunities to break each property, by name, and the standstills; nothing if no order was judged."""
    verdict = None if trial.verdict is None else trial.verdict.order
    if verdict is None:
        return {}, {}
    table = trial.tables.tables.get(FAULTS_NAME)
    bands = [] if table is None else fault_bands(table.batch().to_pylist())
    stood = [
        [
            str(one.cause),
            _fault_of(bands, one.begin_ns, one.end_ns),
            None if one.end_ns is None else (one.end_ns - one.begin_ns) / NS_PER_MS,
        ]
        for one in verdict.blocked
    ]
    return dict(verdict.opportunities), {STANDSTILLS: stood}


@dataclass(slots=True)
class OrderTotals:
    """Totals of the runs of one cell. ``stood``: (cause, fault) → seed and length of each standstill."""

    opportunities: Counter[str] = field(default_factory=Counter)
    stood: dict[tuple[str, str], list[tuple[int, float | None]]] = field(default_factory=dict)

    def add(self, seed: int, observation: Observation) -> None:
        """Count a run that ``order_of`` has measured."""
        self.opportunities.update({str(name): int(observation.numbers.get(name, 0)) for name in Property})
        for cause, fault, lasted_ms in observation.samples[STANDSTILLS]:
            self.stood.setdefault((cause, fault), []).append((seed, lasted_ms))

    @property
    def seeds(self) -> int:
        """In how many runs a partition stood still."""
        return len({seed for each in self.stood.values() for seed, _ in each})

    def in_words(self) -> str:
        """Return how often each property could have been broken, and which were not tried."""
        counts = ", ".join(f"{name} {self.opportunities[name]:,}" for name in Property if self.opportunities[name])
        never = ", ".join(name for name in Property if not self.opportunities[name])
        return f"opportunities: {counts}" + (f"; not exercised: {never}" if never else "")

    def rows(self) -> Iterator[list[str | int]]:
        """Yield the rows of a table with ``HEADINGS``, the most frequent first."""
        for (cause, fault), each in sorted(self.stood.items(), key=lambda item: (-len(item[1]), item[0])):
            ended = [lasted for _, lasted in each if lasted is not None]
            lengths = [f"{digits(median(ended))} ms", f"{digits(max(ended))} ms"] if ended else ["", ""]
            seeds = len({seed for seed, _ in each})
            yield [cause, fault, len(each), seeds, *lengths, len(each) - len(ended)]

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
