"""A run as CSV files: its operations, faults and depth, as ``docs/history.md`` describes them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from zonelab.analysis.runs.accesses import VALUES
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.history import DEPTH, FAULTS, OPERATIONS
from zonelab.analysis.whole_files import whole

TABLES: dict[str, pa.Schema] = {"operations": OPERATIONS, "faults": FAULTS, "depth": DEPTH, "values": VALUES}


def write_csv(run: RunDirectory, folder: Path) -> Iterator[Path]:
    """Write each table that the run has into ``folder``, and yield its path.

    Raises ``RunError``, and ``OSError`` if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in TABLES.items():
        if name == "values" and run.info.workload is None:
            continue
        plain = pa.schema([pa.field(field.name, _plain(field.type)) for field in schema])
        path = folder / f"{name}.csv"
        with whole(path) as partial, csv.CSVWriter(partial, plain) as file:
            for batch in _batches(run, name, schema):
                columns = [_converted(batch[field.name], field.type) for field in plain]
                file.write_batch(pa.RecordBatch.from_arrays(columns, schema=plain))
        yield path


def _batches(run: RunDirectory, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows; of a fault that has ended the row of its end alone."""
    if name != "faults":
        yield from run.batches(name, schema)
        return
    rows: list[dict[str, Any]] = [{field: getattr(band, field) for field in schema.names} for band in run.faults()]
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_dictionary(kind) or pa.types.is_list(kind) else kind


def _converted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(column.type):
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column.cast(kind)
