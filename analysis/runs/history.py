"""The run-log format: what happened in a run, as operations in the manner of Jepsen, in Parquet.

An operation begins with one ``invoke`` event and ends with at most one completion:

* ``ok``: it took effect and this is its result,
* ``fail``: it certainly had no effect,
* ``info``: nobody knows whether it had, has or will have an effect. An operation without a completion is ``info``.

One row per event, or per event and message when the event touches messages; rows of one event share ``index``.
Simulation and real servers write the same columns, and every checker works from these files alone.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

import pyarrow as pa
import pyarrow.parquet as pq

EventType = Literal["invoke", "ok", "fail", "info"]

_ROWS_PER_BATCH = 512  # turned into Arrow data at once: about a millisecond of work

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
        pa.field("error", pa.string()),
    ]
)

ADDED = ("lease_ms",)
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


class Table(Protocol):
    """Where the rows of one table of a run go."""

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one row; columns that it does not name are null."""

    def append_values(self, values: tuple[Any, ...]) -> None:
        """Add one row whose values are in the order of the schema."""

    def close(self) -> None: ...


class MemoryTable:
    """``Table`` that keeps its rows: for runs that are checked at once and leave no file."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self.rows: list[tuple[Any, ...]] = []

    def append(self, row: Mapping[str, Any]) -> None:
        self.rows.append(tuple(map(row.get, self._schema.names)))

    def append_values(self, values: tuple[Any, ...]) -> None:
        self.rows.append(values)

    def close(self) -> None:
        pass

    def batch(self, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """The rows as Arrow data, ``columns`` only if given."""
        names = self._schema.names
        wanted = names if columns is None else [name for name in names if name in columns]
        schema = pa.schema([self._schema.field(name) for name in wanted])
        values = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(names)
        arrays = [pa.array(values[names.index(name)], type=schema.field(name).type) for name in wanted]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class TableWriter:
    """``Table`` that appends to one Parquet file, a row group every ``rows_per_group`` rows, so memory stays bounded.

    The program that writes is the one that is measured, so ``append`` must never take long: few rows at a time become
    Arrow data, and a thread encodes, compresses and writes each row group. What fails there is raised by a later
    ``append`` or by ``close``. The file appears under its name only when it is closed whole; until then it is
    ``<name>.partial``.
    """

    def __init__(self, path: Path, schema: pa.Schema, *, rows_per_group: int = 16_384) -> None:
        self._path = path
        self._partial = path.with_name(path.name + ".partial")
        self._schema = schema
        self._rows_per_group = rows_per_group
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[pa.RecordBatch] = []
        self._file = pq.ParquetWriter(self._partial, schema, compression="zstd", write_page_checksum=True)
        self._writing: Future[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"write-{path.stem}")
        self.rows_written = 0
        _record_batch([(None,) * len(schema)], schema)  # the first conversion loads pandas: not while a run is measured

    def append(self, row: Mapping[str, Any]) -> None:
        self.append_values(tuple(map(row.get, self._schema.names)))

    def append_values(self, values: tuple[Any, ...]) -> None:
        self._rows.append(values)
        self.rows_written += 1
        if len(self._rows) >= min(_ROWS_PER_BATCH, self._rows_per_group):
            self._pack()
            if self.rows_written % self._rows_per_group < len(self._batches[-1]):
                self._hand_over()

    def _pack(self) -> None:
        self._batches.append(_record_batch(self._rows, self._schema))
        self._rows = []

    def _hand_over(self) -> None:
        """Let the thread write a row group; wait for the one before, so that at most one is in its hands."""
        self._finish_writing()
        group = pa.Table.from_batches(self._batches, schema=self._schema)
        self._batches = []
        self._writing = self._thread.submit(self._file.write_table, group)

    def _finish_writing(self) -> None:
        if self._writing is not None:
            self._writing.result()  # if this raises, it will again in close: a file with a hole must not be finished
            self._writing = None

    def close(self) -> None:
        if not self._file.is_open:
            return
        try:
            if self._rows:
                self._pack()
            if self._batches:
                self._hand_over()
            self._finish_writing()
        finally:
            self._thread.shutdown()
            self._file.close()
        self._partial.replace(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _record_batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


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
    """``History`` in ``operations.parquet`` of ``directory``, which is made if it is not there."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(TableWriter(directory / "operations.parquet", OPERATIONS))
