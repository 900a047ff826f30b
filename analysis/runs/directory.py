"""A run directory on disk, opened: every file of a run, typed, and every way it can be broken as one error.

::

    run.json  scenario.yaml  lab.log  history/{operations,depth,faults,values}-000001.parquet …  final_state.parquet
    verdict.json  offenders.parquet  lateness.parquet  summary.json  plots/*.png  report.html

The first row is written by the lab while it runs, the second by the analysis, which can be repeated at any time.
``run.json`` is there first, and the tables of ``history`` are in segments: so a run can be read while it goes on, and
after its lab was killed. Runs of format 1 have each of these tables in one file.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zonelab.analysis.runs.column_types import converted, is_as_written, is_plain
from zonelab.analysis.runs.errors import RunError, TooNew, missing, reading
from zonelab.analysis.runs.fault_bands import FaultBand, fault_bands
from zonelab.analysis.runs.history import ADDED, DEPTH, FAULTS, FINAL_STATE, OPERATIONS
from zonelab.analysis.runs.info import FORMAT, RunInfo, newer, opened_info
from zonelab.analysis.runs.program_commands import SentByProgram, sent_by
from zonelab.analysis.runs.segments import SEGMENTED, is_segment, segment_path, segments_of, single_file
from zonelab.analysis.runs.tables import FORMAT_KEY, WRITTEN_AS_KEY
from zonelab.analysis.whole_files import write_json

ROWS_PER_BATCH = 32_768


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDirectory:
    """The files of one run. ``open`` and every reader raise ``RunError``."""

    path: Path
    info: RunInfo

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open ``path``, which may be a link such as ``latest``, and validate its ``run.json``."""
        directory, info = opened_info(path)
        run = cls(path=directory, info=info.as_of_now())
        return run._as_far_as_it_is() if info.status == "running" else run

    def _as_far_as_it_is(self) -> Self:
        """The phase that a run is in lasts until the last event that is on record."""
        if self.info.phases:
            name, (begin_ns, end_ns) = max(self.info.phases.items(), key=lambda phase: phase[1])
            phases = {**self.info.phases, name: (begin_ns, max(end_ns, self._last_ns()))}
            return type(self)(path=self.path, info=self.info.model_copy(update={"phases": phases}))
        return self

    def _last_ns(self) -> int:
        """0 if nothing is on record, or cannot be read: whoever reads it will say so."""
        with suppress(RunError, IndexError), _parquet(self.files("operations")[-1], OPERATIONS) as file:
            metadata, column = file.metadata, file.schema_arrow.get_field_index("time_ns")
            groups = (metadata.row_group(number).column(column) for number in range(metadata.num_row_groups))
            return max((int(group.statistics.max) for group in groups if group.statistics is not None), default=0)
        return 0

    @property
    def name(self) -> str:
        """``<scenario>/<directory name>``, for people."""
        return f"{self.info.scenario}/{self.path.name}"

    def files(self, table: str) -> list[Path]:
        """The files of ``table`` (operations, faults, depth, values, final_state …) in the order of their rows.

        Raises ``RunError`` if one is missing.
        """
        if table not in SEGMENTED or self.info.format == 1:
            path = single_file(self.path, table)
            ended = self.info.status == "complete" or table == "operations"
            return [path] if ended or path.exists() else []
        found = segments_of(self.path, table)
        expected = max(len(found), self.info.segments.get(table, 0))
        for number in range(1, expected + 1):
            path = segment_path(self.path, table, number)
            if path not in found:
                raise missing(path)
        return found

    def operation_rows(self) -> int:
        return self.rows("operations", OPERATIONS)

    def rows(self, table: str, schema: pa.Schema) -> int:
        """Return the number of rows of ``table``."""
        return sum(_rows(path, schema) for path in self.files(table))

    def must_be_as_written(self, table: str, schema: pa.Schema) -> None:
        """Raise ``RunError`` if another program wrote ``table`` again, with types that only this class converts."""
        for path in self.files(table):
            with _parquet(path, schema) as file:
                for found in file.schema_arrow:
                    if found.name in schema.names and not is_as_written(found.type, schema.field(found.name).type):
                        types = f"got {found.type}; expected {schema.field(found.name).type}"
                        raise RunError(f"{path}: column {found.name}: {types} (Spark does not convert it)")

    def operations(
        self,
        columns: Sequence[str] | None = None,
        *,
        batch_rows: int = ROWS_PER_BATCH,
        messages: Collection[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """The history in order, a batch of at most ``batch_rows`` at a time, ``columns`` only if given.

        With ``messages``, parts of the files in which none of them is named are left out.
        """
        return self.batches("operations", OPERATIONS, columns, batch_rows=batch_rows, messages=messages)

    def batches(
        self,
        table: str,
        schema: pa.Schema,
        columns: Sequence[str] | None = None,
        *,
        batch_rows: int = ROWS_PER_BATCH,
        messages: Collection[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        """The rows of ``table`` in order, as ``operations`` has them; none if the run has no such table."""
        for path in self.files(table):
            yield from _batches(path, schema, columns, batch_rows, messages)

    def program_commands(self, process: str) -> Iterator[SentByProgram]:
        """Yield what a process of the user's own programs sent, if that was recorded."""
        return sent_by(self.path, process, epoch_ns=self.info.epoch_ns)

    @property
    def final_state_known(self) -> bool:
        """True if any zone's end state was recorded: an interrupted run may have none."""
        return (self.path / "final_state.parquet").exists() or self.info.status == "complete"

    def final_state_rows(self) -> int:
        if not self.final_state_known:
            return 0
        return _rows(self.path / "final_state.parquet", FINAL_STATE)

    def final_state(
        self, columns: Sequence[str] | None = None, *, batch_rows: int = ROWS_PER_BATCH
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches of what each zone held at the end; none if the run was interrupted before it was read."""
        if not self.final_state_known:
            return iter(())
        return _batches(self.path / "final_state.parquet", FINAL_STATE, columns, batch_rows)

    def message_rows(
        self, table: Literal["operations", "final_state"], columns: Sequence[str], *, batch_rows: int = ROWS_PER_BATCH
    ) -> Iterator[dict[str, pa.Array]]:
        """Yield the rows of ``table`` that concern a message, by column, at most ``batch_rows`` at a time."""
        for batch in (self.operations if table == "operations" else self.final_state)(columns, batch_rows=batch_rows):
            rows = batch.filter(pc.is_valid(batch["message_id"])) if batch["message_id"].null_count else batch
            yield dict(zip(rows.schema.names, rows.columns, strict=True))

    def faults(self) -> list[FaultBand]:
        """The faults in the order of their begin; none if the run ended before the first was recorded."""
        batches = self.batches("faults", FAULTS)
        return fault_bands(row for batch in batches for row in batch.to_pylist())

    def depth(self) -> pa.Table:
        """Queue depth samples, columns as in ``history.DEPTH``; empty if the run ended before they were written."""
        found = self.table("depth", DEPTH)
        return DEPTH.empty_table() if found is None else found

    def table(self, name: str, schema: pa.Schema) -> pa.Table | None:
        """The table ``name`` of this directory, or None if the run ended before any of it was written."""
        if not self.files(name) and self.info.status != "complete":
            return None
        batches = list(self.batches(name, schema))
        return pa.Table.from_batches(batches) if batches else schema.empty_table()

    def lateness(self) -> pa.Table:
        """The checker's ``lateness.parquet``: zone, lateness_ms, deliveries."""
        path = self.path / "lateness.parquet"
        with reading(path, pa.ArrowException):
            return pq.read_table(path)

    def scenario_text(self) -> str:
        with reading(self.path / "scenario.yaml") as path:
            return path.read_text(encoding="utf-8")

    def read_json(self, name: str) -> Any:
        with reading(self.path / name) as path:
            return json.loads(path.read_text(encoding="utf-8"))

    def write_json(self, name: str, value: Mapping[str, Any]) -> Path:
        """Write ``name`` whole or not at all. Raises ``OSError``."""
        return write_json(self.path / name, value)


def _rows(path: Path, schema: pa.Schema) -> int:
    with _parquet(path, schema) as file:
        return int(file.metadata.num_rows)


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetFile]:
    with reading(path, pa.ArrowException), pq.ParquetFile(path, page_checksum_verification=True) as file:
        metadata = file.schema_arrow.metadata or {}
        written = int(metadata.get(FORMAT_KEY, b"1"))
        if written > FORMAT:
            raise TooNew(f"{path}: {newer(written)}")
        found = set(file.schema_arrow.names)
        missing = [name for name in schema.names if name not in found and name not in ADDED]
        if missing:
            raise RunError(f"{path}: not written by this version: column {', '.join(missing)} is missing")
        for field in schema:
            if field.name in found and not is_plain(kind := file.schema_arrow.field(field.name).type, field.type):
                raise RunError(f"{path}: column {field.name}: got {kind}; expected {field.type}")
        written_as = metadata.get(WRITTEN_AS_KEY, path.stem.encode()).decode()
        if is_segment(path) and written_as != path.stem:
            raise RunError(f"{path}: a copy of {written_as}{path.suffix}, whose rows would count twice")
        yield file


def _batches(
    path: Path, schema: pa.Schema, columns: Sequence[str] | None, batch_rows: int, messages: Collection[str] = ()
) -> Iterator[pa.RecordBatch]:
    with _parquet(path, schema) as file:
        # One thread decodes as fast as one thread judges, and does not hold several row groups in memory.
        wanted = [name for name in schema.names if columns is None or name in columns]
        groups = _groups_naming(file, messages) if messages else range(file.num_row_groups)
        for batch in file.iter_batches(batch_size=batch_rows, row_groups=groups, columns=wanted, use_threads=False):
            yield _completed(path, batch, [schema.field(name) for name in wanted])


def _groups_naming(file: pq.ParquetFile, messages: Collection[str]) -> list[int]:
    """Return the row groups that name any of ``messages``: where their bounds allow it, that one column is read."""
    ids, column = pa.array(list(messages), pa.string()), file.schema_arrow.get_field_index("message_id")

    def names_any(number: int) -> bool:
        bounds = file.metadata.row_group(number).column(column).statistics
        if bounds is not None and bounds.has_min_max and not any(bounds.min <= one <= bounds.max for one in messages):
            return False
        found = file.read_row_group(number, columns=["message_id"], use_threads=False)["message_id"]
        return bool(pc.any(pc.is_in(found.cast(pa.string()), value_set=ids)).as_py())

    return [number for number in range(file.num_row_groups) if names_any(number)]


def _completed(path: Path, batch: pa.RecordBatch, fields: Sequence[pa.Field]) -> pa.RecordBatch:
    """``batch`` with columns as in ``fields``: nulls for those that an older run lacks, types as they were written."""
    found, columns = set(batch.schema.names), []
    for field in fields:
        try:
            there = field.name in found
            columns.append(converted(batch[field.name], field) if there else pa.nulls(len(batch), field.type))
        except ValueError as error:
            raise RunError(f"{path}: column {field.name}: {error}") from error
    return pa.RecordBatch.from_arrays(columns, names=[field.name for field in fields])
