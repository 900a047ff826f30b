"""Tables that are written while a run goes on, in segments: Parquet files that are whole once they bear their names.

A lab that is killed loses the segment that it was writing and no other; who reads meanwhile sees all that are closed.
"""

import re
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa

from zonelab.analysis.runs.tables import TableWriter

FOLDER = "history"
SEGMENTED = ("operations", "values", "order", "depth", "faults", "votes")
"""The tables in segments; others are written at once when the run is over."""

SEGMENT_ROWS = 131_072
"""A segment that has so many rows is closed."""

_OF_OLD = {"operations": "history/operations", "values": "history/values"}


def segment_path(run: Path, table: str, number: int) -> Path:
    """``number`` counts from 1."""
    return run / FOLDER / f"{table}-{number:06}.parquet"


class SegmentedTable:
    """``zonelab.analysis.runs.tables.Table`` in segments. What a thread fails to write is raised by a later call.

    ``segment_ns``, ``segment_rows``: a segment whose first row was there so long ago, or that has so many, is due.
    """

    def __init__(
        self, run: Path, name: str, schema: pa.Schema, *, segment_ns: int, segment_rows: int = SEGMENT_ROWS
    ) -> None:
        self._run = run
        self._name = name
        self._schema = schema
        self._segment_ns = segment_ns
        self._segment_rows = segment_rows
        self._open: TableWriter | None = None
        self._since_ns: int | None = None
        self._finishing: Future[None] | None = None
        self.segments = 0
        """Number of segments that were begun."""

    def append(self, row: Mapping[str, Any]) -> None:
        self._writer().append(row)

    def append_values(self, values: tuple[Any, ...]) -> None:
        self._writer().append_values(values)

    def is_due(self, now_ns: int) -> bool:
        """Return True if the segment is full or old. To be called now and then; its age counts from the first time."""
        if self._open is None:
            return False
        if self._since_ns is None:
            self._since_ns = now_ns
        return self._open.rows_written >= self._segment_rows or now_ns - self._since_ns >= self._segment_ns

    def cut(self) -> None:
        """Close the segment, between two events and never within one: a reader has an event with all its rows or not
        at all. One after the other: a segment never bears its name before the one in front of it does.
        """
        self._await_finished()
        if self._open is not None:
            self._finishing = self._open.finish()
            self._open = self._since_ns = None

    def close(self) -> None:
        self.cut()
        self._await_finished()

    def _writer(self) -> TableWriter:
        if self._open is None:
            self.segments += 1
            path = segment_path(self._run, self._name, self.segments)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open = TableWriter(path, self._schema)
        return self._open

    def _await_finished(self) -> None:
        if self._finishing is not None:
            self._finishing.result()  # if this raises, it will again in close: a table with a hole is not finished


def table_in(run: Path, name: str, schema: pa.Schema, *, segment_ns: int = 2**63) -> SegmentedTable | TableWriter:
    """The table ``name`` of a run directory, to be written: in segments if it is one of those."""
    if name in SEGMENTED:
        return SegmentedTable(run, name, schema, segment_ns=segment_ns)
    run.mkdir(parents=True, exist_ok=True)
    return TableWriter(single_file(run, name), schema)


def is_segment(path: Path) -> bool:
    return re.fullmatch(r".+-\d{6}", path.stem) is not None


def segments_of(run: Path, table: str) -> list[Path]:
    """The closed segments that are there, in order of their numbers; numbers may be missing."""
    return sorted((run / FOLDER).glob(f"{table}-[0-9][0-9][0-9][0-9][0-9][0-9].parquet"))


def single_file(run: Path, table: str) -> Path:
    """Return the path of the table in runs of format 1."""
    return run / f"{_OF_OLD.get(table, table)}.parquet"
