"""Zones whose consumers could not serve what arrived: what is left there says nothing about the consistency level.

A zone is overloaded if, over the last half of the load and at times without a fault, 5 % more messages of its shards
became due than there were deliveries of them, and its depth grew by at least half of these. (Messages that became due
and are missing from the depth of their zone are not waiting there to be served: its server missed them.) A fault lasts,
for a zone, until its operations succeed again: connections come back later than a server. Failures before any fault are
those of servers or consumers that cannot carry the load, and end no time without one. The rule is ours.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from zonelab.analysis.measures import chosen, confirmed, having, ready_ns
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.history import DEPTH
from zonelab.analysis.units import NS_PER_S

EXCESS = 1.05
"""Due messages over deliveries above which a zone is overloaded. A choice: at the ends of a span some messages are due
and not yet delivered, or delivered and due before it, and with steady service these stay far below 5 % of half a load.
"""

CASES_MIN = 10
"""Least difference between due and delivered messages: in small runs 5 % are a message or two, which can be chance."""

WAITING_SHARE = 0.5
"""Least share of the excess that waits in the zone: what is due and waits nowhere was missed by the server."""

RECOVERED_NS = 1_000_000_000
"""Time without a failed operation after which a zone has recovered: as long as the first wait of a back-off."""

_COLUMNS = ("time_ns", "f", "type", "shard", "due_ms")

_Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Overload:
    """In ``looked_at_s``, ``due`` messages of the zone's shards became due; ``deliveries`` has redeliveries as well."""

    zone: str
    due: int
    deliveries: int
    looked_at_s: float


def overloads(run: RunDirectory) -> tuple[Overload, ...]:
    """The overloaded zones of ``run``, by name; none if no time without a fault is left, or nobody looked how many
    messages wait. Raises ``RunError``.
    """
    quiet = _quiet_spans(run)
    if not quiet or not run.rows("depth", DEPTH):
        return ()
    failures = _failures(run)
    faulted_ns = min((fault.begin_ns for fault in run.faults()), default=None)
    spans = {zone: _recovered(quiet, failures[zone], faulted_ns) for zone in run.info.queue.shards.values()}
    due, deliveries = _counts(run, spans)
    growing = _growing(run, spans)
    return tuple(
        Overload(zone=zone, due=due[zone], deliveries=deliveries[zone], looked_at_s=_length_s(spans[zone]))
        for zone in sorted(due)
        if due[zone] > EXCESS * deliveries[zone]
        and due[zone] - deliveries[zone] >= CASES_MIN
        and growing[zone] >= WAITING_SHARE * (due[zone] - deliveries[zone])
    )


def _length_s(spans: _Spans) -> float:
    return sum(end - begin for begin, end in spans) / NS_PER_S


def _quiet_spans(run: RunDirectory) -> list[tuple[int, int]]:
    """The parts of the last half of the load in which no fault is in force, in ns of run time."""
    if "load" not in run.info.phases:
        return []
    begin, end = run.info.phases["load"]
    begin += (end - begin) // 2
    spans = []
    for fault in run.faults():
        if fault.begin_ns > begin:
            spans.append((begin, min(fault.begin_ns, end)))
        begin = max(begin, end if fault.end_ns is None else fault.end_ns)
    spans.append((begin, end))
    return [(first, last) for first, last in spans if first < last]


def _failures(run: RunDirectory) -> defaultdict[str, list[int]]:
    """When pushes and pops of each zone ended without success, in order."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for batch in run.operations(("time_ns", "zone", "f", "type")):
        failed = having(batch, "type", "fail") | having(batch, "type", "info")
        rows = chosen(batch, failed & (having(batch, "f", "push") | having(batch, "f", "pop")))
        for zone, time_ns in zip(rows["zone"].to_pylist(), rows["time_ns"].to_pylist(), strict=True):
            found[zone].append(time_ns)
    return found


def _recovered(spans: _Spans, failures_ns: Sequence[int], faulted_ns: int | None) -> _Spans:
    """Each of ``spans`` from where operations had succeeded for ``RECOVERED_NS`` after a fault.

    ``faulted_ns``: when the first one began.
    """
    found = []
    for begin, end in spans:
        after_fault = faulted_ns is not None and begin > faulted_ns
        for time_ns in failures_ns[bisect_left(failures_ns, begin) :] if after_fault else ():
            if time_ns - begin > RECOVERED_NS:
                break
            begin = time_ns
        if begin < end:
            found.append((begin, end))
    return found


def _counts(run: RunDirectory, spans: Mapping[str, _Spans]) -> tuple[Counter[str], Counter[str]]:
    """By zone: messages of its shards that became due, and deliveries."""
    due: Counter[str] = Counter()
    deliveries: Counter[str] = Counter()
    for batch in run.operations(_COLUMNS):
        ended = chosen(batch, confirmed(batch))
        for f, counter in (("push", due), ("pop", deliveries)):
            rows = chosen(ended, having(ended, "f", f))
            at_ns = ready_ns(rows, epoch_ns=run.info.epoch_ns) if f == "push" else rows["time_ns"].to_numpy()
            for shard, zone in run.info.queue.shards.items():
                counter[zone] += int(np.count_nonzero(having(rows, "shard", shard) & _within(at_ns, spans[zone])))
    return due, deliveries


def _within(at_ns: NDArray[np.int64], spans: _Spans) -> NDArray[np.bool_]:
    inside = np.zeros(len(at_ns), dtype=np.bool_)
    for begin, end in spans:
        inside |= (at_ns >= begin) & (at_ns < end)
    return inside


def _growing(run: RunDirectory, spans: Mapping[str, _Spans]) -> defaultdict[str, float]:
    """By how much the depth of each zone grew within its ``spans``, added up."""
    grown: defaultdict[str, float] = defaultdict(float)
    for own, of_zone in spans.items():
        for begin, end in of_zone:
            for zone, times_ns, depths in _depths(run, begin, end):
                grown[own] += _grown(np.array(times_ns), np.array(depths)) if zone == own else 0.0
    return grown


def _grown(times_ns: NDArray[np.int64], depths: NDArray[np.int64]) -> float:
    """By the line of least squares: a depth also counts what is not due yet, and goes up and down from look to look."""
    if len(depths) < 2:
        return 0.0
    slope, _ = np.polyfit(times_ns - times_ns[0], depths, 1)
    return float(slope * (times_ns[-1] - times_ns[0]))


def _depths(run: RunDirectory, begin: int, end: int) -> Iterator[tuple[str, list[int], list[int]]]:
    """Zone, times and depths."""
    table = run.depth()
    table = table.filter(pc.and_(pc.greater_equal(table["time_ns"], begin), pc.less(table["time_ns"], end)))
    by_zone: dict[str, tuple[list[int], list[int]]] = {}
    for row in table.sort_by("time_ns").to_pylist():
        if row["waiting"] is not None and row["leased"] is not None:
            times_ns, depths = by_zone.setdefault(row["zone"], ([], []))
            times_ns.append(row["time_ns"])
            depths.append(row["waiting"] + row["leased"])
    yield from ((zone, *looked) for zone, looked in by_zone.items())
