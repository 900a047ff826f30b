"""Positions of groups in partitions while a run goes on, and why one stands still, from the replies to programs.

The checker, which has the whole run, judges by the same signs (``zonelab.analysis.checkers.order.waiting``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from zonelab.analysis.checkers.order.properties import GONE, THRASH_GRANTS, Blockage
from zonelab.analysis.runs.order import OrderKind
from zonelab.engine.units import NS_PER_MS

_MOVES = (OrderKind.GRANT, OrderKind.COMMIT, OrderKind.DEAD_LETTER, OrderKind.PARK, OrderKind.SKIP)


@dataclass(slots=True)
class _GroupHead:
    """A group in a partition. ``since_ns``: since when its head is the head, and waits."""

    owner: str | None = None
    session: str | None = None
    token: tuple[int, int] | None = None
    until_ns: int = 0
    cursor: int = 0
    since_ns: int | None = None
    grants: int = 0
    failed: int = 0
    open: int | None = None
    suspended_ns: int = 0
    statuses: set[str] = field(default_factory=set)

    def head_is_new(self, time_ns: int | None) -> None:
        self.since_ns, self.grants, self.failed, self.open, self.suspended_ns = time_ns, 0, 0, None, 0
        self.statuses.clear()


class OrderSoFar:
    """Running counts over the order history, at a cost that does not grow with the run.

    ``wait_ms``: a partition whose head waits longer stands still.
    """

    def __init__(self, *, wait_ms: float) -> None:
        self._wait_ns = wait_ms * NS_PER_MS
        self._places: dict[tuple[str, str], _GroupHead] = {}
        self._ends: dict[str, int] = {}
        self._pushed: dict[str, int] = {}
        self._gone: set[str] = set()

    def heard(self, row: Mapping[str, Any]) -> None:
        """Update the counts by one event, a row of the history of order."""
        kind, partition = OrderKind(row["kind"]), row.get("partition")
        if kind is OrderKind.MEMBER and row.get("status") in GONE:
            self._gone.add(row["session"])
        if partition is None:
            return
        if kind is OrderKind.PRODUCE and row.get("outcome") == "ok":
            self._pushed[partition] = self._pushed.get(partition, 0) + 1
        if row.get("offset") is not None and kind is not OrderKind.COMMIT:
            self._ends[partition] = max(self._ends.get(partition, 0), row["offset"] + 1)
        if row.get("group") is not None:
            place = self._places.setdefault((row["group"], partition), _GroupHead())
            self._at(place, kind, row)
        for (_, name), place in self._places.items():
            if name == partition and place.since_ns is None and self._end(name) > place.cursor:
                place.since_ns = row["time_ns"]

    def shown(self, now_ns: int) -> Iterator[dict[str, Any]]:
        """A row for each group and partition, for a page."""
        for (group, partition), place in sorted(self._places.items()):
            end = self._end(partition)
            waited_ns = 0 if place.since_ns is None else now_ns - place.since_ns
            blocked = self._cause(place, now_ns) if waited_ns > self._wait_ns else None
            yield {
                "group": group,
                "partition": partition,
                "owner": place.owner,
                "token": None if place.token is None else ".".join(map(str, place.token)),
                "cursor": place.cursor,
                "end": end,
                "lag": max(0, end - place.cursor),
                "blocked": None if blocked is None else str(blocked),
                "blocked_s": None if blocked is None else waited_ns / NS_PER_MS / 1_000,
            }

    def _end(self, partition: str) -> int:
        """Fenced pushes are confirmed before they have an offset."""
        return max(self._ends.get(partition, 0), self._pushed.get(partition, 0))

    def _at(self, place: _GroupHead, kind: OrderKind, row: Mapping[str, Any]) -> None:
        done = row.get("outcome") == "ok"
        if row.get("status"):
            place.statuses.add(row["status"])
        if kind is OrderKind.GRANT and done:
            place.owner, place.session, place.grants = row["member"], row["session"], place.grants + 1
            place.token = None if row.get("token") is None else (row.get("generation") or 0, row["token"])
        if kind in (OrderKind.GRANT, OrderKind.RENEW) and done and row["session"] == place.session:
            place.until_ns = row.get("until_ns") or 0
        if kind is OrderKind.RELEASE and done and row["session"] == place.session:
            place.owner = place.session = None
        if row.get("offset") == place.cursor:
            self._at_head(place, kind, row)
        cursor = row.get("cursor")
        if kind in _MOVES and done and cursor is not None and cursor != place.cursor:
            place.cursor = cursor
            place.head_is_new(row["time_ns"] if self._end(row["partition"]) > cursor else None)

    def _at_head(self, place: _GroupHead, kind: OrderKind, row: Mapping[str, Any]) -> None:
        if kind is OrderKind.START:
            place.open = row["op_id"]
        elif kind is OrderKind.END and row["op_id"] == place.open:
            place.open = None
        elif kind is OrderKind.FAIL and row.get("outcome") == "ok":
            place.failed, place.suspended_ns = place.failed + 1, row.get("until_ns") or 0

    def _cause(self, place: _GroupHead, now_ns: int) -> Blockage:
        """The first whose signs were seen since the head became it."""
        signs = (
            (Blockage.UNADMITTED, "unadmitted" in place.statuses),
            (Blockage.CURSOR_AHEAD, "cursor ahead" in place.statuses),
            (Blockage.POISON, place.failed > 1),
            (Blockage.THRASH, place.grants >= THRASH_GRANTS),
            (Blockage.CREDIT, "credit" in place.statuses),
            (Blockage.DEAD_HOLDER, place.session in self._gone),
            (Blockage.ORPHAN, place.owner is None or place.until_ns < now_ns),
            (Blockage.HUNG, place.open is not None),
            (Blockage.SUSPENDED, place.suspended_ns > now_ns),
        )
        return next((cause for cause, seen in signs if seen), Blockage.SLOW)
