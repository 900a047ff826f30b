"""Destinations of the rows of one table of a run: a Parquet file, or memory."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.parquet as pq

from zonelab.analysis.runs.info import FORMAT

FORMAT_KEY = b"zonelab.format"
WRITTEN_AS_KEY = b"zonelab.written_as"
"""In the metadata of every file: its format, and its name when it was written, without the ending."""

_ROWS_PER_BATCH = 512  # turned into Arrow data at once: about a millisecond of work


class Table(Protocol):
    """Destination of the rows of one table of a run."""

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


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table that is there as a whole, as ``TableWriter`` would row by row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    marked = table.replace_schema_metadata(_metadata(path))
    pq.write_table(marked, partial, **_encoding(table.schema), row_group_size=131_072)
    partial.replace(path)


def _encoding(schema: pa.Schema) -> dict[str, Any]:
    """Return how a file is written: a dictionary for categories only, as one of times or ids takes longer to write."""
    categories = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    return {"compression": "zstd", "write_page_checksum": True, "use_dictionary": categories}


def _metadata(path: Path) -> dict[bytes, bytes]:
    return {FORMAT_KEY: str(FORMAT).encode(), WRITTEN_AS_KEY: path.stem.encode()}


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
        marked = schema.with_metadata(_metadata(path))
        self._file = pq.ParquetWriter(self._partial, marked, **_encoding(schema))
        self._writing: Future[None] | None = None
        self._finished: Future[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"write-{path.stem}")
        self.rows_written = 0
        _record_batch([(None,) * len(schema)], schema)  # the first conversion imports modules: not in a measured run

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
            self._writing.result()  # if this raises, it will again in close
            self._writing = None

    def finish(self) -> Future[None]:
        """Let the thread write what is left and close the file; the result raises whatever failed."""
        if self._finished is None:
            if self._rows:
                self._pack()
            group = pa.Table.from_batches(self._batches, schema=self._schema) if self._batches else None
            self._batches = []
            self._finished = self._thread.submit(self._complete, self._writing, group)
            self._thread.shutdown(wait=False)
        return self._finished

    def _complete(self, writing: Future[None] | None, group: pa.Table | None) -> None:
        try:
            if writing is not None:
                writing.result()  # a file with a hole must not be finished
            if group is not None:
                self._file.write_table(group)
        finally:
            self._file.close()
        self._partial.replace(self._path)

    def close(self) -> None:
        self.finish().result()

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
