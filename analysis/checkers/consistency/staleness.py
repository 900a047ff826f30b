"""Staleness of reads: in time, and in versions.

A read is stale if, before it began, a write was confirmed that is certainly newer than the value it returned: one that
began after the write of that value had been confirmed. Its staleness in time counts from the first such confirmation,
in versions it is the number of such writes. Both are lower bounds: writes that overlap are given the benefit of the
doubt, and a value whose write nobody confirmed is never called stale. (The k and the t of Bailis et al.,
Probabilistically bounded staleness, PVLDB 5, 2012.)
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.findings import AccessFindings
from zonelab.analysis.checkers.consistency.registers import may_have_updated, updated
from zonelab.analysis.checkers.consistency.section import Share
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.proportions import proportion_interval
from zonelab.analysis.runs.accesses import Access
from zonelab.analysis.statistics import quantiles

EVERYWHERE = "all"
NEVER = 2**62
"""The end of a write that nobody confirmed."""


class Versions:
    """The updates of one register: which came before which, as far as real time tells."""

    def __init__(self, accesses: Sequence[Access]) -> None:
        self.confirmed = sorted((one for one in accesses if updated(one)), key=lambda one: one.end or 0)
        self._ends = [one.end or 0 for one in self.confirmed]
        self._begins = np.array([one.begin for one in self.confirmed], dtype=np.int64)
        writers: dict[str | None, list[Access]] = defaultdict(list)
        for access in accesses:
            if may_have_updated(access):
                writers[access.argument].append(access)
        self._writer = {value: own[0] for value, own in writers.items() if len(own) == 1}

    def span(self, value: str | None) -> tuple[int, int] | None:
        """Begin and end of the one write of ``value``; None if there are several or none. Nil was there before all."""
        if value is None:
            return -1, -1
        writer = self._writer.get(value)
        return None if writer is None else (writer.begin, NEVER if writer.end is None else writer.end)

    def writer(self, value: str | None) -> Access | None:
        return self._writer.get(value)

    def newer(self, value: str | None, *, at: int) -> list[Access]:
        """Updates certainly newer than ``value`` and confirmed before event ``at``, in the order of confirmation."""
        span = self.span(value)
        if span is None:
            return []
        low, high = bisect_left(self._ends, span[1] + 1), bisect_left(self._ends, at)
        if low >= high:
            return []
        return [self.confirmed[low + place] for place in np.flatnonzero(self._begins[low:high] > span[1]).tolist()]


def reads_with_newer(accesses: Sequence[Access]) -> Iterator[tuple[Access, list[Access]]]:
    """Every answered read of one register, with the updates that it missed, in the order of confirmation."""
    versions = Versions(accesses)
    for read in (one for one in accesses if one.f == "read" and one.ok):
        yield read, versions.newer(read.result, at=read.begin)


def staleness_ms(read: Access, newer: Sequence[Access]) -> float:
    """Return how stale the read is in time; 0 if it missed nothing."""
    return (read.begin_ns - (newer[0].end_ns or 0)) / 1e6 if newer else 0.0


def check_staleness(keys: Mapping[str, Sequence[Access]], findings: AccessFindings) -> None:
    reads: Counter[str] = Counter()
    behind_ms: dict[str, list[float]] = defaultdict(list)
    behind_versions: dict[str, list[int]] = defaultdict(list)
    for key, accesses in keys.items():
        for read, newer in reads_with_newer(accesses):
            for place in (read.zone, EVERYWHERE):
                reads[place] += 1
                if newer:
                    behind_ms[place].append(staleness_ms(read, newer))
                    behind_versions[place].append(len(newer))
            if newer:
                detail = f"{behind_ms[EVERYWHERE][-1]:.1f} ms and {len(newer)} versions behind"
                findings.add(
                    Anomaly.STALE_READ, Case(key=key, ops=(newer[0].op, read.op), zone=read.zone, detail=detail)
                )
    findings.shares[Anomaly.STALE_READ] = {
        place: share(len(behind_ms[place]), reads[place]) for place in zones_first(reads)
    }
    findings.staleness.update(
        {
            place: {"ms": quantiles(behind_ms[place]), "versions": quantiles(behind_versions[place])}
            for place in zones_first(behind_ms)
            if behind_ms[place]
        }
    )


def zones_first(places: Iterable[str]) -> list[str]:
    """Zones in order, then all of them together."""
    return sorted(places, key=lambda place: (place == EVERYWHERE, place))


def share(hits: int, trials: int) -> Share:
    interval = proportion_interval(hits, trials)
    return Share(hits=hits, trials=trials, low=interval.low, high=interval.high)
