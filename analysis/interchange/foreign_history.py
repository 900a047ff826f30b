"""A history that another program recorded, of registers, sets, locks, counters or lists, put together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.runs.accesses import Access, FinalContents
from zonelab.analysis.workloads import OPERATIONS_OF, WorkloadKind

UPDATES = ("write", "cas", "create", "add", "acquire", "push")
"""Operations that bring a value."""

ELSEWHERE = "elsewhere"
"""The zone of clients of which the history does not say where they are."""

_AT_REST = (Anomaly.LOST_WRITE, Anomaly.LOST_ADD, Anomaly.NO_OWNER, Anomaly.LEFT_BEHIND)
_BY_VALUE = (
    Anomaly.APPLIED_IN_DOUBT,
    Anomaly.APPLIED_AFTER_FAIL,
    Anomaly.READ_YOUR_WRITES,
    Anomaly.MONOTONIC_READS,
    Anomaly.MONOTONIC_WRITES,
)


class ForeignHistoryError(ValueError):
    """The text is no such history; the message says where, what is there, and what is accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignHistory:
    """``accesses`` in the order of their begin, places and ids as in a run. ``at_rest``: what is known of the end;
    ``zones_read``: it was read from each zone.
    """

    kind: WorkloadKind
    accesses: tuple[Access, ...]
    at_rest: FinalContents | None
    zones_read: bool

    @classmethod
    def of(
        cls, kind: WorkloadKind, accesses: Iterable[Access], at_rest: FinalContents | None = None
    ) -> "ForeignHistory":
        """Return the history of these accesses.

        Args:
            kind: what the clients used.
            accesses: their operations, whose ``begin`` are in the order of time.
            at_rest: what zones held at the end; if not given, of a set what a last read showed.

        Raises:
            ForeignHistoryError: if there is nothing, or a list got one item twice.
        """
        found = tuple(sorted(accesses, key=lambda one: one.begin))
        if not found:
            raise ForeignHistoryError("no operation of a client in it")
        contents = at_rest or _last_reads(kind, found)
        history = cls(kind=kind, accesses=found, at_rest=contents, zones_read=at_rest is not None)
        if kind is WorkloadKind.LIST and (twice := history.repeated):
            raise ForeignHistoryError(f"item {twice[0]} is pushed twice; accepted: items that are all different")
        return history

    @property
    def repeated(self) -> Sequence[str]:
        """Values that more than one update of a key brought."""
        brought = Counter((one.key, one.argument) for one in self.accesses if one.f in UPDATES)
        return [f"{value}" for (_, value), count in brought.items() if count > 1]

    @property
    def unstated(self) -> tuple[Anomaly, ...]:
        """The anomalies of which the history does not say enough."""
        hidden = _AT_REST if self.at_rest is None else ()
        between = () if self.zones_read else (Anomaly.DIVERGENT,)
        return (*hidden, *between, *(_BY_VALUE if self.repeated else ()))

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of the clients, and those whose contents are known."""
        held = () if self.at_rest is None else self.at_rest.by_zone
        return tuple(sorted({*(one.zone for one in self.accesses), *held}))


def _last_reads(kind: WorkloadKind, accesses: Sequence[Access]) -> FinalContents | None:
    """Return what reads showed that began after all additions to their set had ended, for all zones together; None if
    a set had no such read.
    """
    if kind is not WorkloadKind.SET:
        return None
    added: dict[str, int] = {}
    for one in accesses:
        if one.f == "add" and one.end is not None:
            added[one.key] = max(added.get(one.key, -1), one.end)
    reads = [one for one in accesses if one.f == "members" and one.ok and one.begin > added.get(one.key, -1)]
    shown = {one.key: one.members or () for one in reads}
    return FinalContents({one.zone: shown for one in accesses}) if added.keys() <= shown.keys() else None


def operation_named(kind: WorkloadKind, name: object, aliases: Mapping[str, str], *, place: str) -> str:
    """Return our name of an operation of the history. Raises ``ForeignHistoryError`` if ``kind`` has none such."""
    known = {**{f: f for f in OPERATIONS_OF[kind]}, **aliases}
    if name not in known:
        raise ForeignHistoryError(f"{place}: operation: got {name}; accepted of a {kind}: {', '.join(sorted(known))}")
    return known[str(name)]
