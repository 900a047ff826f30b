"""Order: the table that a run with ordered messages adds to its history, its writer, and the zones' logs at rest.

``order`` has one row an event, in the order in which the lab heard of them. Two sorts of events:

* *decided* ones are questions to a store: produce, grant, renew, release, commit, fail, dead_letter, park, skip, sink.
  Their row is written when they end: ``invoke_ns`` says when they began, ``outcome`` what became of them. ``ok``: it
  took effect. ``fail``: it certainly had none, ``status`` says why. ``info``: nobody knows.
* *moments* are what a program does by itself: member, assign, start, end, resize.

``op_id`` joins the start of a delivery, its end, and what was asked for on its behalf (sink, commit, fail …).
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal

import pyarrow as pa

from zonelab.analysis.runs.tables import Table

ORDER_NAME = "order"
FINAL_ORDER_NAME = "final_order"

_CATEGORY = pa.dictionary(pa.int32(), pa.string())


class OrderKind(StrEnum):
    """Kind of an event in the table ``order``."""

    PRODUCE = "produce"
    MEMBER = "member"
    ASSIGN = "assign"
    GRANT = "grant"
    RENEW = "renew"
    RELEASE = "release"
    START = "start"
    END = "end"
    COMMIT = "commit"
    FAIL = "fail"
    DEAD_LETTER = "dead_letter"
    PARK = "park"
    SKIP = "skip"
    SINK = "sink"
    RESIZE = "resize"


ORDER = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),  # position in this table, from 0
        pa.field("time_ns", pa.int64(), nullable=False),  # run time of the event; of its end, if it was decided
        pa.field("invoke_ns", pa.int64()),  # of decided events: run time of the begin
        pa.field("kind", _CATEGORY, nullable=False),  # an ``OrderKind``
        pa.field("outcome", _CATEGORY),  # of decided events: ok, fail, info
        pa.field("op_id", pa.int64()),  # of a delivery: joins start, end and what followed from it
        pa.field("zone", _CATEGORY),  # zone whose coordinator was asked; of a member: where it is
        pa.field("member", _CATEGORY),  # the program
        pa.field("session", _CATEGORY),  # one life of a member; a program that starts again has another
        pa.field("group", _CATEGORY),
        pa.field("partition", _CATEGORY),  # TOPIC/NUMBER
        pa.field("epoch", pa.int32()),  # how often the topic was resized before
        pa.field("generation", pa.int64()),  # raised when zones are admitted again
        pa.field("token", pa.int64()),  # of the grant under which it happened
        pa.field("offset", pa.int64()),  # of the message; of a commit: the cursor that it expects
        pa.field("cursor", pa.int64()),  # first unfinished offset: at a grant, or after a commit, dead letter, skip
        pa.field("attempt", pa.int32()),  # of a start: from 1; of a fail: how many have failed by now
        pa.field("key", pa.string()),  # ordering key
        pa.field("message_id", pa.string()),
        pa.field("producer", _CATEGORY),  # one that numbers its messages
        pa.field("sequence", pa.int64()),  # its number of the message, by key
        pa.field("position", pa.int64()),  # of a sink: how many effects it took before, in all partitions
        pa.field("until_ns", pa.int64()),  # grant, renew: the lease's end; fail: no attempt before this; produce: due
        pa.field("status", _CATEGORY),  # see docs/history.md
        pa.field("detail", pa.string()),
    ]
)

FINAL_ORDER = pa.schema(
    [
        pa.field("place", _CATEGORY, nullable=False),  # one of ``PLACES``
        pa.field("zone", _CATEGORY),  # whose server was read; null: outside the zones
        pa.field("group", _CATEGORY),  # null in a log
        pa.field("partition", _CATEGORY, nullable=False),
        pa.field("offset", pa.int64(), nullable=False),  # of a cursor: the first unfinished one
        pa.field("generation", pa.int64()),  # of whoever wrote it
        pa.field("token", pa.int64()),
        pa.field("key", pa.string()),
        pa.field("message_id", pa.string()),
        pa.field("producer", _CATEGORY),
        pa.field("sequence", pa.int64()),
        pa.field("position", pa.int64()),  # of a sink: as in the table order
    ]
)

PLACES = ("log", "cursor", "dead", "parked", "sink", "inbox")
"""``inbox``: a record that has no offset yet; its ``offset`` is -1."""

Outcome = Literal["ok", "fail", "info"]


class OrderHistory:
    """Writes the table ``order``. Single-threaded; the columns are those of ``ORDER``.

    ``close`` ends as ``info`` what is still open, so what a crashed program asked for stays on record as unknown.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.heard: Callable[[Mapping[str, Any]], None] | None = None
        """Called with every row as it is written."""
        self._open: dict[int, tuple[int, OrderKind, Mapping[str, Any]]] = {}
        self._next_index = 0
        self._next_call = 0
        self._next_delivery = 0
        self._last_ns = 0

    def begin(self, kind: OrderKind, *, time_ns: int, **columns: Any) -> int:
        """A decided event begins; the number with which to ``end`` it."""
        self._next_call += 1
        self._open[self._next_call] = (time_ns, kind, columns)
        self._last_ns = max(self._last_ns, time_ns)
        return self._next_call

    def end(self, call: int, *, time_ns: int, outcome: Outcome, **columns: Any) -> None:
        """``columns``: what is known now; the others are as at the begin. ``KeyError`` if it is not open."""
        invoke_ns, kind, known = self._open.pop(call)
        self._write(kind, time_ns, {**known, **columns, "invoke_ns": invoke_ns, "outcome": outcome})

    def start(self, *, time_ns: int, **columns: Any) -> int:
        """Record that a message is handed to a program. Returns the ``op_id`` of this delivery."""
        op_id = self._next_delivery
        self._next_delivery += 1
        self._write(OrderKind.START, time_ns, {**columns, "op_id": op_id})
        return op_id

    def note(self, kind: OrderKind, *, time_ns: int, **columns: Any) -> None:
        """A moment that is not a start."""
        self._write(kind, time_ns, columns)

    def close(self) -> None:
        for call in list(self._open):
            self.end(call, time_ns=self._last_ns, outcome="info", status="never completed")
        self._table.close()

    def _write(self, kind: OrderKind, time_ns: int, columns: Mapping[str, Any]) -> None:
        self._last_ns = max(self._last_ns, time_ns)
        row = {**columns, "index": self._next_index, "time_ns": time_ns, "kind": str(kind)}
        self._next_index += 1
        if not _NAMES.issuperset(row):
            raise KeyError(f"not a column of the order history: {', '.join(sorted(row.keys() - _NAMES))}")
        self._table.append(row)
        if self.heard is not None:
            self.heard(row)


_NAMES = frozenset(ORDER.names)
