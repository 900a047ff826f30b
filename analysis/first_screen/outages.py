"""Outages of each zone: when which operations did not work there during the load."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from zonelab.analysis.measures import Outages, chosen, events, having
from zonelab.analysis.number_text import listed
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.units import NS_PER_S

SHORTEST_NS = 50_000_000
"""An outage that is shorter is not told: a single operation that failed."""

_COLUMNS = ("index", "time_ns", "invoke_ns", "zone", "f", "type", "error")


@dataclass(frozen=True, kw_only=True, slots=True)
class OutageSpan:
    """A time, in ns of run time, in which the operations ``names`` did not work in ``zone``."""

    zone: str
    names: tuple[str, ...]
    begin_ns: int
    end_ns: int

    @property
    def words(self) -> str:
        """``zone b: push and pop from 2.55 to 5.05 s``."""
        span = f"{self.begin_ns / NS_PER_S:.2f} to {self.end_ns / NS_PER_S:.2f} s"
        return f"zone {self.zone}: {listed(self.names)} from {span}"


def zone_outages(run: RunDirectory) -> tuple[OutageSpan, ...]:
    """Return the outages of the load by zone and time; those that overlap in a zone are one. Raises ``RunError``."""
    found: dict[tuple[str, str], Outages] = defaultdict(Outages)
    last_ns = 0
    for rows in events(run.operations(_COLUMNS)):
        ended = chosen(rows, ~having(rows, "type", "invoke"))
        for zone in ended["zone"].unique().to_pylist():
            of_zone = chosen(ended, having(ended, "zone", zone))
            for f in of_zone["f"].unique().to_pylist():
                found[zone, f].add(chosen(of_zone, having(of_zone, "f", f)))
        last_ns = max([last_ns, *ended["time_ns"].to_pylist()[-1:]])
    load_ns = run.info.phases.get("load", (0, last_ns))
    spans = sorted(
        (zone, begin_ns, end_ns, f) for (zone, f), of in found.items() for begin_ns, end_ns in of.until(load_ns[1])
    )
    return tuple(one for one in _joined(spans) if one.end_ns - one.begin_ns >= SHORTEST_NS)


def _joined(spans: list[tuple[str, int, int, str]]) -> Iterator[OutageSpan]:
    """Yield the spans, which are in order, with those that overlap in one."""
    current: tuple[str, int, int, set[str]] | None = None
    for zone, begin_ns, end_ns, f in spans:
        if current is not None and current[0] == zone and begin_ns <= current[2]:
            current = (zone, current[1], max(end_ns, current[2]), current[3] | {f})
            continue
        if current is not None:
            yield _outage(current)
        current = (zone, begin_ns, end_ns, {f})
    if current is not None:
        yield _outage(current)


def _outage(joined: tuple[str, int, int, set[str]]) -> OutageSpan:
    zone, begin_ns, end_ns, names = joined
    return OutageSpan(zone=zone, names=tuple(sorted(names)), begin_ns=begin_ns, end_ns=end_ns)
