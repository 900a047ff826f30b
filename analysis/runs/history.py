"""The run-log format: what happened in a run, as operations in the manner of Jepsen, in Parquet.

An operation begins with one ``invoke`` event and ends with at most one completion:

* ``ok``: it took effect and this is its result,
* ``fail``: it certainly had no effect,
* ``info``: nobody knows whether it had, has or will have an effect. An operation without a completion is ``info``.

One row per event, or per event and message when the event touches messages; rows of one event share ``index``.
Simulation and real servers write the same columns, and every checker works from these files alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zlib import crc32

import pyarrow as pa

from zonelab.analysis.runs.segments import table_in
from zonelab.analysis.runs.tables import Table

EventType = Literal["invoke", "ok", "fail", "info"]

_CATEGORY = pa.dictionary(pa.int32(), pa.string())

OPERATIONS = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),  # position of the event in the run, from 0
        pa.field("time_ns", pa.int64(), nullable=False),  # run time of the event
        pa.field("invoke_ns", pa.int64()),  # on completions: run time of the invocation
        pa.field("intended_ns", pa.int64()),  # when the load plan wanted it to start (open loop)
        pa.field("process", _CATEGORY, nullable=False),  # e.g. producer-a-0; does one thing at a time unless open-loop
        pa.field("zone", _CATEGORY, nullable=False),  # zone whose coordinator it talks to
        pa.field("f", _CATEGORY, nullable=False),  # push, pop, ack, extend, …
        pa.field("type", _CATEGORY, nullable=False),  # invoke, ok, fail, info
        pa.field("op_id", pa.int64(), nullable=False),  # joins invocation and completion
        pa.field("message_id", pa.string()),
        pa.field("key", pa.string()),  # ordering key, for ordered queues
        pa.field("shard", _CATEGORY),
        pa.field("delivery", pa.int64()),  # op_id of the pop that made the delivery this row is about
        pa.field("due_ms", pa.int64()),  # wall clock before which the message must not be delivered
        pa.field("lease_start_ms", pa.int64()),  # wall clock read just before the lease was written
        pa.field("leased_ms", pa.int64()),  # wall clock read just after the lease was confirmed
        pa.field("lease_end_ms", pa.int64()),  # wall clock at which the lease ends
        pa.field("priority", pa.int16()),
        pa.field("lease_ms", pa.int64()),  # on pushes: a lease of the message's own; 0: none, at most once
        pa.field("body", pa.int64()),  # on pushes and deliveries: CRC-32 of the body; null: empty
        pa.field("error", pa.string()),
    ]
)

ADDED = ("lease_ms", "body")
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
    told = {"fault": fault, "kind": kind, "target": target, "begin_ns": begin_ns, "end_ns": None}
    return {**told, "colour": colour, "detail": detail}


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


class Touched(NamedTuple):
    """The part of an event that concerns one message; fields as in ``OPERATIONS``, and in that order."""

    message_id: str
    key: str | None = None
    shard: str | None = None
    delivery: int | None = None
    due_ms: int | None = None
    lease_start_ms: int | None = None
    leased_ms: int | None = None
    lease_end_ms: int | None = None
    priority: int | None = None
    lease_ms: int | None = None
    body: int | None = None


def body_sum(body: str) -> int | None:
    """What the column ``body`` has of a message's body; None for an empty one, of which nothing can be said."""
    return crc32(body.encode("utf-8", "surrogatepass")) if body else None


_Who = tuple[int | None, str, str, str]
"""Intended time, process, zone and f."""

_UNTOUCHED: Sequence[tuple[Any, ...]] = ((None,) * len(Touched._fields),)


class History:
    """Writes the history of one run into ``table``, whose rows are as in ``OPERATIONS``.

    Single-threaded. ``invoke`` returns the ``op_id`` to complete later; ``close`` completes what is still open as
    ``info``, so a crashed process's operations stay in the record as what they are: unknown.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._open: dict[int, tuple[int, _Who, Sequence[Touched]]] = {}  # op_id → when, who, what
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
        messages: Sequence[Touched] = (),
    ) -> int:
        """Write that an operation begins, and return the number by which its end is told."""
        op_id = self._next_op
        self._next_op += 1
        who = (intended_ns, process, zone, f)
        self._open[op_id] = (time_ns, who, messages)
        self._write(op_id, who, "invoke", time_ns, None, messages, None)
        return op_id

    def complete(
        self,
        op_id: int,
        *,
        time_ns: int,
        type: Literal["ok", "fail", "info"],
        messages: Sequence[Touched] | None = None,
        error: str | None = None,
    ) -> None:
        """End the operation. ``messages`` default to those of the invocation. ``KeyError`` if it is not open."""
        invoke_ns, who, invoked = self._open.pop(op_id)
        self._write(op_id, who, type, time_ns, invoke_ns, invoked if messages is None else messages, error)

    def close(self) -> None:
        for op_id in list(self._open):
            self.complete(op_id, time_ns=self._last_ns, type="info", error="never completed")
        self._table.close()

    def _write(
        self,
        op_id: int,
        who: _Who,
        type: EventType,
        time_ns: int,
        invoke_ns: int | None,
        messages: Sequence[Touched],
        error: str | None,
    ) -> None:
        if time_ns > self._last_ns:
            self._last_ns = time_ns
        index = self._next_index
        self._next_index += 1
        event = (index, time_ns, invoke_ns, *who, type, op_id)
        for touched in messages or _UNTOUCHED:
            self._table.append_values((*event, *touched, error))


class HistoryWriter(History):
    """``History`` in the run directory ``run``, which is made if it is not there."""

    def __init__(self, run: Path) -> None:
        super().__init__(table_in(run, "operations", OPERATIONS))
