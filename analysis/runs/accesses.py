"""Accesses: additions to the history of a run with a workload of registers, sets, locks, counters or lists.

The table ``operations`` has the events, as in every run. The table ``values`` has one row an operation,
joined by ``op_id``: the key, what was written and what came back. ``final_values.parquet`` has what each zone's server
held at rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, Protocol

import pyarrow as pa

from zonelab.analysis.runs.directory import ROWS_PER_BATCH
from zonelab.analysis.runs.info import RunInfo

VALUES_NAME = "values"
FINAL_VALUES_NAME = "final_values"

_CATEGORY = pa.dictionary(pa.int32(), pa.string())

VALUES = pa.schema(
    [
        pa.field("op_id", pa.int64(), nullable=False),
        pa.field("key", _CATEGORY, nullable=False),
        pa.field("argument", pa.string()),  # the value, member, item or token that it brought
        pa.field("expected", pa.string()),  # what a compare-and-set expected; null: nothing there
        pa.field("result", pa.string()),  # what came back; null: nothing there, or no answer
        pa.field("applied", pa.bool_()),  # whether an answered conditional update took effect
        pa.field("members", pa.list_(pa.string())),  # what came back from the reading of a set
    ]
)

FINAL_VALUES = pa.schema(
    [
        pa.field("zone", _CATEGORY, nullable=False),  # whose server was read
        pa.field("key", _CATEGORY, nullable=False),
        pa.field("position", pa.int64(), nullable=False),  # in a list; otherwise only a number
        pa.field("value", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """One operation, whole. ``begin`` and ``end`` are its events' places in the run's one order, ``index``.

    ``type`` as in ``zonelab.analysis.runs.history``; ``end`` and ``end_ns`` are None if nobody knows whether it took
    effect.
    """

    op: int
    process: str
    zone: str
    f: str
    type: Literal["ok", "fail", "info"]
    key: str
    argument: str | None = None
    expected: str | None = None
    result: str | None = None
    applied: bool | None = None
    members: tuple[str, ...] | None = None
    begin: int
    end: int | None
    begin_ns: int
    end_ns: int | None
    error: str | None = None

    @property
    def ok(self) -> bool:
        return self.type == "ok"


@dataclass(frozen=True, slots=True)
class FinalContents:
    """Values of each zone's server at rest: zone → key → values in order. A key that is not there has no entry."""

    by_zone: dict[str, dict[str, tuple[str, ...]]]

    @property
    def keys(self) -> list[str]:
        return sorted({key for held in self.by_zone.values() for key in held})

    def of(self, key: str) -> dict[str, tuple[str, ...]]:
        return {zone: held.get(key, ()) for zone, held in self.by_zone.items()}


class AccessRun(Protocol):
    """A run as its checker reads it: ``RunDirectory``, or the same in memory."""

    @property
    def info(self) -> RunInfo: ...
    def operations(self, columns: Sequence[str] | None, *, batch_rows: int) -> Iterator[pa.RecordBatch]: ...
    def table(self, name: str, schema: pa.Schema) -> pa.Table | None:
        """A table beside the history, or None if the run ended before it was written."""


def accesses(run: AccessRun) -> list[Access]:
    """Every operation of a run, in the order of their begin. Raises ``RunError``."""
    values = run.table(VALUES_NAME, VALUES)
    by_op = {row["op_id"]: row for row in values.to_pylist()} if values is not None else {}
    begun: dict[int, dict[str, Any]] = {}
    found: dict[int, Access] = {}
    columns = ("index", "time_ns", "process", "zone", "f", "type", "op_id", "error")
    for batch in run.operations(columns, batch_rows=ROWS_PER_BATCH):
        for row in batch.to_pylist():
            op = row["op_id"]
            if row["type"] == "invoke":
                begun[op] = row
            else:
                found[op] = _access(begun.pop(op), row, by_op.get(op))
    for op, row in begun.items():
        found[op] = _access(row, None, by_op.get(op))
    return [found[op] for op in sorted(found)]


def _access(invoked: dict[str, Any], completed: dict[str, Any] | None, values: dict[str, Any] | None) -> Access:
    unknown = completed is None or completed["type"] == "info"
    row = values or {"key": "", "argument": None, "expected": None, "result": None, "applied": None, "members": None}
    return Access(
        op=invoked["op_id"],
        process=invoked["process"],
        zone=invoked["zone"],
        f=invoked["f"],
        type="info" if completed is None else completed["type"],
        key=row["key"],
        argument=row["argument"],
        expected=row["expected"],
        result=row["result"],
        applied=row["applied"],
        members=None if row["members"] is None else tuple(row["members"]),
        begin=invoked["index"],
        end=None if unknown or completed is None else completed["index"],
        begin_ns=invoked["time_ns"],
        end_ns=None if unknown or completed is None else completed["time_ns"],
        error=None if completed is None else completed["error"],
    )


def held(run: AccessRun) -> FinalContents | None:
    """Return the values of the zones at rest, without zones that could not be read; None if none were recorded."""
    if run.info.workload is not None and not run.info.workload.end_state:
        return None
    table = run.table(FINAL_VALUES_NAME, FINAL_VALUES)
    if table is None:
        return None
    zones = [zone for zone in run.info.zone_names if zone not in run.info.unread_zones]
    by_zone: dict[str, dict[str, list[str]]] = {zone: {} for zone in zones}
    for row in sorted(table.to_pylist(), key=itemgetter("key", "position")):
        by_zone.setdefault(row["zone"], {}).setdefault(row["key"], []).append(row["value"])
    return FinalContents({zone: {key: tuple(own) for key, own in keys.items()} for zone, keys in by_zone.items()})
