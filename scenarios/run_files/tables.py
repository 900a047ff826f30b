"""Tables of a run: written into the files of its directory, or into memory for a run that is only to be judged."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import pyarrow as pa

from zonelab.analysis.runs.fault_bands import FaultBand, fault_bands
from zonelab.analysis.runs.history import FAULTS, FINAL_STATE, OPERATIONS
from zonelab.analysis.runs.info import RunInfo
from zonelab.analysis.runs.program_commands import SentByProgram
from zonelab.analysis.runs.segments import SegmentedTable, table_in
from zonelab.analysis.runs.tables import MemoryTable, Table

OPERATIONS_NAME = "operations"
FAULTS_NAME = "faults"
FINAL_STATE_NAME = "final_state"
DEPTH_NAME = "depth"


class Tables(Protocol):
    """Maker of the tables of a run. The caller closes each."""

    def __call__(self, name: str, schema: pa.Schema) -> Table: ...
    def cut(self, now_ns: int) -> None:
        """Make readable for others what is in the tables by now. Never called while an event is written."""


@dataclass(slots=True)
class FileTables:
    """Tables as the Parquet files of a run directory; those that are written while it goes on are in segments.

    ``segment_ns``: how much of run time the last segment may hold.
    """

    directory: Path
    segment_ns: int
    _segmented: dict[str, SegmentedTable] = field(default_factory=dict)

    def __call__(self, name: str, schema: pa.Schema) -> Table:
        table = table_in(self.directory, name, schema, segment_ns=self.segment_ns)
        if isinstance(table, SegmentedTable):
            self._segmented[name] = table
        return table

    def cut(self, now_ns: int) -> None:
        """All of them as soon as one is due: so faults, depths and operations of the same time can be read together."""
        due = [name for name, table in self._segmented.items() if table.is_due(now_ns)]
        if due:
            for table in self._segmented.values():
                table.cut()

    @property
    def segments(self) -> dict[str, int]:
        return {name: table.segments for name, table in self._segmented.items()}


@dataclass(slots=True)
class MemoryTables:
    """Tables of one run that stay in memory, by name."""

    tables: dict[str, MemoryTable] = field(default_factory=dict)

    def __call__(self, name: str, schema: pa.Schema) -> MemoryTable:
        return self.tables.setdefault(name, MemoryTable(schema))

    def cut(self, now_ns: int) -> None:
        pass


def rows(tables: MemoryTables, name: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table in memory, by column; none if the run made no such table."""
    table = tables.tables.get(name)
    for row in table.rows if table else ():
        yield dict(zip(names, row, strict=True))


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """A run whose tables are in memory, as the checker and the teller of stories read one from disk."""

    info: RunInfo
    tables: MemoryTables

    @property
    def final_state_known(self) -> bool:
        return FINAL_STATE_NAME in self.tables.tables

    def table(self, name: str, schema: pa.Schema) -> pa.Table | None:
        """Return a table; see ``zonelab.analysis.runs.directory.RunDirectory.table``."""
        table = self.tables.tables.get(name)
        return None if table is None else pa.Table.from_batches([table.batch()])

    def faults(self) -> list[FaultBand]:
        """Return the faults in the order of their begin."""
        return fault_bands(rows(self.tables, FAULTS_NAME, FAULTS.names))

    def operations(
        self,
        columns: Sequence[str] | None = None,
        *,
        batch_rows: int | None = None,
        messages: Collection[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        yield self.tables(OPERATIONS_NAME, OPERATIONS).batch(columns)

    def message_rows(
        self, table: Literal["operations", "final_state"], columns: Sequence[str], *, batch_rows: int | None = None
    ) -> Iterator[dict[str, Sequence[Any]]]:
        """Yield the rows of ``table`` that concern a message, by column."""
        schema = OPERATIONS if table == OPERATIONS_NAME else FINAL_STATE
        places = {name: place for place, name in enumerate(schema.names)}
        id_at = places["message_id"]
        if table in self.tables.tables:
            found = [row for row in self.tables.tables[table].rows if row[id_at] is not None]
            yield {name: [row[places[name]] for row in found] for name in columns}

    def program_commands(self, process: str) -> Iterator[SentByProgram]:
        """Nothing: programs of the user's own run on real servers, which leave a directory."""
        return iter(())

    def final_state(
        self, columns: Sequence[str] | None = None, *, batch_rows: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        if self.final_state_known:
            yield self.tables(FINAL_STATE_NAME, FINAL_STATE).batch(columns)
