"""Where the tables of a run go: into the files of its directory, or into memory for a run that is only to be judged."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.runs.accesses import VALUES_NAME
from analysis.runs.directory import RunInfo
from analysis.runs.history import FINAL_STATE, OPERATIONS
from analysis.runs.tables import MemoryTable, Table, TableWriter

OPERATIONS_NAME = "operations"
FAULTS_NAME = "faults"
FINAL_STATE_NAME = "final_state"
DEPTH_NAME = "depth"

OpenTable = Callable[[str, pa.Schema], Table]
"""Makes the table of a name; whoever asks for it closes it."""


def files_in(directory: Path) -> OpenTable:
    """Tables as the Parquet files of a run directory."""

    def open_table(name: str, schema: pa.Schema) -> Table:
        folder = directory / "history" if name in (OPERATIONS_NAME, VALUES_NAME) else directory
        folder.mkdir(parents=True, exist_ok=True)
        return TableWriter(folder / f"{name}.parquet", schema)

    return open_table


@dataclass(slots=True)
class MemoryTables:
    """Tables of one run that stay in memory, by name."""

    tables: dict[str, MemoryTable] = field(default_factory=dict)

    def __call__(self, name: str, schema: pa.Schema) -> MemoryTable:
        return self.tables.setdefault(name, MemoryTable(schema))


def rows(tables: MemoryTables, name: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """Of a table in memory, by column; none if the run made no such table."""
    table = tables.tables.get(name)
    for row in table.rows if table else ():
        yield dict(zip(names, row, strict=True))


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """A run whose tables are in memory, as the checker reads it (``analysis.checkers.queue.queue.Recorded``)."""

    info: RunInfo
    tables: MemoryTables

    @property
    def final_state_known(self) -> bool:
        return FINAL_STATE_NAME in self.tables.tables

    def table(self, name: str, schema: pa.Schema) -> pa.Table | None:
        """As ``analysis.runs.directory.RunDirectory.table``."""
        table = self.tables.tables.get(name.rpartition("/")[2])
        return None if table is None else pa.Table.from_batches([table.batch()])

    def operations(self, columns: Sequence[str] | None, *, batch_rows: int) -> Iterator[pa.RecordBatch]:
        yield self.tables(OPERATIONS_NAME, OPERATIONS).batch(columns)

    def final_state(self, columns: Sequence[str] | None, *, batch_rows: int) -> Iterator[pa.RecordBatch]:
        if self.final_state_known:
            yield self.tables(FINAL_STATE_NAME, FINAL_STATE).batch(columns)
