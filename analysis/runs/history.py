"""The history of a run and its columns: what happened, as operations in the manner of Jepsen, in Parquet.

An operation begins with one ``invoke`` event and ends with at most one completion:

* ``ok``: it took effect and this is its result,
* ``fail``: it certainly had no effect,
* ``info``: nobody knows whether it had, has or will have an effect. An operation without a completion is ``info``.

One row per event, or per event and message when the event touches messages; rows of one event share ``index``.
Simulation and real servers write the same columns, and every checker works from these files alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints
from zlib import crc32

import pyarrow as pa

from zonelab.analysis.runs.segments import table_in
from zonelab.analysis.runs.tables import Table

EventType = Literal["invoke", "ok", "fail", "info"]

NO_LEASE = "no lease"
"""The error of an ack or an extension that was refused because the lease had ended: an answer, not an outage."""

_CATEGORY = pa.dictionary(pa.int32(), pa.string())
_LATER = "later"
"""Marks a column that older histories lack; there it is null."""

_Category = Annotated[str, _CATEGORY]
_Number = Annotated[int, pa.int64()]
_NumberOrNull = Annotated[int | None, pa.int64()]
_TextOrNull = Annotated[str | None, pa.string()]


class Event(NamedTuple):
    """The columns after ``index`` that are the same in each row of an event, in their order."""

    time_ns: _Number  # run time of the event
    invoke_ns: _NumberOrNull  # on completions: run time of the invocation
    intended_ns: _NumberOrNull  # when the load plan wanted it to start (open loop)
    process: _Category  # e.g. producer-a-0; does one thing at a time unless open-loop
    zone: _Category  # zone whose coordinator it talks to
    f: _Category  # push, pop, ack, extend, …
    type: _Category  # invoke, ok, fail, info
    op_id: _Number  # joins invocation and completion


class MessageColumns(NamedTuple):
    """The columns that concern one message, in their order; all are null in an event that touches none.

    A new column is a field here, marked ``_LATER``: then rows, files, their readers and the views of Spark have it.
    """

    message_id: Annotated[str, pa.string()]
    key: _TextOrNull = None  # ordering key, for ordered queues
    shard: Annotated[str | None, _CATEGORY] = None
    delivery: _NumberOrNull = None  # op_id of the pop that made the delivery this row is about
    due_ms: _NumberOrNull = None  # wall clock before which the message must not be delivered
    lease_start_ms: _NumberOrNull = None  # wall clock read just before the lease was written
    leased_ms: _NumberOrNull = None  # wall clock read just after the lease was confirmed
    lease_end_ms: _NumberOrNull = None  # wall clock at which the lease ends
    priority: Annotated[int | None, pa.int16()] = None
    lease_ms: Annotated[_NumberOrNull, _LATER] = None  # on pushes: a lease of the message's own; 0: at most once
    body: Annotated[_NumberOrNull, _LATER] = None  # on pushes and deliveries: CRC-32 of the body; null: empty


_MARKS = {
    name: hint.__metadata__
    for part in (Event, MessageColumns)
    for name, hint in get_type_hints(part, include_extras=True).items()
}
_NEVER_NULL = ("time_ns", "process", "zone", "f", "type", "op_id")

OPERATIONS = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),  # position of the event in the run, from 0
        *(pa.field(name, kind, nullable=name not in _NEVER_NULL) for name, (kind, *_) in _MARKS.items()),
        pa.field("error", pa.string()),
    ]
)
"""The columns of a history: those of ``Event`` and of ``MessageColumns`` between the index and the error."""

ADDED = tuple(name for name, marks in _MARKS.items() if _LATER in marks)
"""Columns that older histories lack; there they are null."""

FAULTS = pa.schema(
    [
        pa.field("fault", pa.string(), nullable=False),  # unique in the run: "0:kill b"
        pa.field("kind", pa.string(), nullable=False),
        pa.field("target", pa.string(), nullable=False),  # zone, link "a>b" or process
        pa.field("begin_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64()),  # null: never ended
        pa.field("colour", pa.string(), nullable=False),  # of its band in plots
        pa.field("detail", pa.string(), nullable=False),  # JSON
    ]
)


def fault_row(*, fault: str, kind: str, target: str, begin_ns: int, colour: str, detail: str) -> dict[str, Any]:
    """Return the row of ``FAULTS`` of a fault that begins; ``end_ns`` is given when it ends."""
    row = {"fault": fault, "kind": kind, "target": target, "begin_ns": begin_ns, "end_ns": None}
    return {**row, "colour": colour, "detail": detail}


FINAL_STATE = pa.schema(
    [
        pa.field("zone", _CATEGORY, nullable=False),  # whose Redis was read
        pa.field("shard", _CATEGORY),  # null for a payload
        pa.field("place", _CATEGORY, nullable=False),  # queue, unack, payload or dead
        pa.field("message_id", pa.string(), nullable=False),
        pa.field("score", pa.float64()),  # null for a payload
        pa.field("serving", pa.bool_(), nullable=False),  # this zone's consumers serve this shard from here
    ]
)

DEPTH = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),
        pa.field("zone", _CATEGORY, nullable=False),
        pa.field("waiting", pa.int64()),  # ids in the zone's own shard; null: the zone did not answer
        pa.field("leased", pa.int64()),
    ]
)


def body_sum(body: str) -> int | None:
    """Return what the column ``body`` has of a message's body; None for an empty one."""
    return crc32(body.encode("utf-8", "surrogatepass")) if body else None


_UNTOUCHED: Sequence[tuple[Any, ...]] = ((None,) * len(MessageColumns._fields),)


class History:
    """Writes the history of one run into ``table``, whose rows are as in ``OPERATIONS``.

    Single-threaded. ``invoke`` returns the ``op_id`` to complete later; ``close`` completes what is still open as
    ``info``, so a crashed process's operations stay in the record as what they are: unknown.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._open: dict[int, tuple[Event, Sequence[MessageColumns]]] = {}  # by op_id: the invocation
        self._next_op = 0
        self._next_index = 0
        self._last_ns = 0

    def invoke(
        self,
        *,
        time_ns: int,
        process: str,
        zone: str,
        f: str,
        intended_ns: int | None = None,
        messages: Sequence[MessageColumns] = (),
    ) -> int:
        """Write that an operation begins, and return the number that ``complete`` takes."""
        op_id = self._next_op
        self._next_op += 1
        event = Event(time_ns, None, intended_ns, process, zone, f, "invoke", op_id)
        self._open[op_id] = event, messages
        self._write(event, messages, None)
        return op_id

    def complete(
        self,
        op_id: int,
        *,
        time_ns: int,
        type: Literal["ok", "fail", "info"],
        messages: Sequence[MessageColumns] | None = None,
        error: str | None = None,
    ) -> None:
        """End the operation. ``messages`` default to those of the invocation. ``KeyError`` if it is not open."""
        began, invoked = self._open.pop(op_id)
        ended = began._replace(time_ns=time_ns, invoke_ns=began.time_ns, type=type)
        self._write(ended, invoked if messages is None else messages, error)

    def close(self) -> None:
        for op_id in list(self._open):
            self.complete(op_id, time_ns=self._last_ns, type="info", error="never completed")
        self._table.close()

    def _write(self, event: Event, messages: Sequence[MessageColumns], error: str | None) -> None:
        self._last_ns = max(self._last_ns, event.time_ns)
        index = self._next_index
        self._next_index += 1
        for touched in messages or _UNTOUCHED:
            self._table.append_values((index, *event, *touched, error))


class HistoryWriter(History):
    """``History`` in the run directory ``run``, which is made if it is not there."""

    def __init__(self, run: Path) -> None:
        super().__init__(table_in(run, "operations", OPERATIONS))
