"""Session guarantees: what a client may expect of its own session on one register, whatever others see.

The guarantees are those of Terry et al. (Session guarantees for weakly consistent replicated data, PDIS 1994). One
operation of a client follows another if it began after the other was answered; a value is older than another if its
write was confirmed before the other's began. What overlaps is given the benefit of the doubt.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.findings import AccessFindings
from zonelab.analysis.checkers.consistency.registers import updated
from zonelab.analysis.checkers.consistency.staleness import EVERYWHERE, Versions, share, zones_first
from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.runs.accesses import Access

_GUARANTEES = (Anomaly.READ_YOUR_WRITES, Anomaly.MONOTONIC_READS, Anomaly.MONOTONIC_WRITES)


class _Latest:
    """The operation with the newest value so far, of those that are answered one after the other."""

    def __init__(self, ended: Iterable[tuple[int, int, Access]]) -> None:
        """``ended``: the end of each, the begin of the write of its value, and the operation."""
        self._ends: list[int] = []
        self._newest: list[tuple[int, Access]] = []
        for end, begin, access in sorted(ended, key=lambda one: one[0]):
            best = self._newest[-1] if self._newest else None
            self._ends.append(end)
            self._newest.append((begin, access) if best is None or begin > best[0] else best)

    def before(self, event: int) -> tuple[int, Access] | None:
        place = bisect_left(self._ends, event)
        return self._newest[place - 1] if place else None


class _SessionTally:
    def __init__(self, findings: AccessFindings) -> None:
        self._findings = findings
        self._trials: dict[Anomaly, Counter[str]] = defaultdict(Counter)
        self._hits: dict[Anomaly, Counter[str]] = defaultdict(Counter)

    def count(self, name: Anomaly, key: str, earlier: Access, read: Access, *, broken: bool) -> None:
        for place in (read.zone, EVERYWHERE):
            self._trials[name][place] += 1
            self._hits[name][place] += broken
        if broken:
            self._findings.add(name, Case(key=key, ops=(earlier.op, read.op), zone=read.zone, detail=read.process))

    def finish(self) -> None:
        for name in _GUARANTEES:
            self._findings.shares[name] = {
                place: share(self._hits[name][place], self._trials[name][place])
                for place in zones_first(self._trials[name])
            }


def check_sessions(keys: Mapping[str, Sequence[Access]], findings: AccessFindings) -> None:
    """``shares``: of the reads that had something to miss, how many missed it."""
    tally = _SessionTally(findings)
    for key, accesses in keys.items():
        versions = Versions(accesses)
        clients: dict[str, list[Access]] = defaultdict(list)
        for access in accesses:
            clients[access.process].append(access)
        for own in clients.values():
            _own_writes(key, own, versions, tally)
            _own_reads(key, own, versions, tally)
        _order_of_writes(key, accesses, versions, tally)
    tally.finish()


def _reads(accesses: Iterable[Access]) -> list[Access]:
    return [one for one in accesses if one.f == "read" and one.ok]


def _own_writes(key: str, own: Sequence[Access], versions: Versions, tally: _SessionTally) -> None:
    writes = _Latest((one.end or 0, one.begin, one) for one in own if updated(one))
    for read in _reads(own):
        latest, span = writes.before(read.begin), versions.span(read.result)
        if latest is not None and span is not None:
            tally.count(Anomaly.READ_YOUR_WRITES, key, latest[1], read, broken=span[1] < latest[0])


def _own_reads(key: str, own: Sequence[Access], versions: Versions, tally: _SessionTally) -> None:
    reads = _reads(own)
    spans = {one.op: versions.span(one.result) for one in reads}
    earlier = _Latest((one.end or 0, span[0], one) for one in reads if (span := spans[one.op]) is not None)
    seen: list[Access] = []
    for read in reads:
        latest, span = earlier.before(read.begin), spans[read.op]
        if latest is not None and span is not None:
            newer = latest[1] if span[1] < latest[0] else _left_and_returned(read, seen)
            tally.count(Anomaly.MONOTONIC_READS, key, newer or latest[1], read, broken=newer is not None)
        seen.append(read)


def _left_and_returned(read: Access, seen: Sequence[Access]) -> Access | None:
    """A read of another value between an earlier read of this value and ``read``: whichever is newer, one went back."""
    first_end: int | None = None
    for one in seen:
        if one.end is None or one.end >= read.begin:
            continue
        if one.result == read.result:
            first_end = one.end if first_end is None else min(first_end, one.end)
        elif first_end is not None and one.begin > first_end:
            return one
    return None


def _order_of_writes(key: str, accesses: Sequence[Access], versions: Versions, tally: _SessionTally) -> None:
    """A read of a client's earlier write, begun after a read of its later write was answered."""
    first_seen: dict[str | None, Access] = {}
    reads = _reads(accesses)
    for read in sorted(reads, key=lambda one: one.end or 0):
        first_seen.setdefault(read.result, read)
    writes: dict[str, list[Access]] = defaultdict(list)
    for one in versions.confirmed:
        writes[one.process].append(one)
    soonest = {process: _soonest_seen(own, first_seen) for process, own in writes.items()}
    for read in reads:
        writer = versions.writer(read.result)
        if writer is None or not writer.ok or writer.process not in soonest:
            continue
        begins, shown_by = soonest[writer.process]
        place = bisect_left(begins, (writer.end or 0) + 1)
        earlier = shown_by[place] if place < len(shown_by) else None
        if earlier is not None and (earlier.end or 0) < read.begin:
            tally.count(Anomaly.MONOTONIC_WRITES, key, earlier, read, broken=True)
        elif place < len(begins):
            tally.count(Anomaly.MONOTONIC_WRITES, key, writer, read, broken=False)


def _soonest_seen(
    own: Sequence[Access], first_seen: Mapping[str | None, Access]
) -> tuple[list[int], list[Access | None]]:
    """Begins of a client's writes, and for each the read that first showed it or any later one of them."""
    ordered = sorted(own, key=lambda one: one.begin)
    shown_by: list[Access | None] = []
    soonest: Access | None = None
    for one in reversed(ordered):
        shown = first_seen.get(one.argument)
        if shown is not None and (soonest is None or (shown.end or 0) < (soonest.end or 0)):
            soonest = shown
        shown_by.append(soonest)
    return [one.begin for one in ordered], shown_by[::-1]
