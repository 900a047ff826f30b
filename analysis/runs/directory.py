"""A run directory on disk, opened: every file of a run, typed, and every way it can be broken as one error.

::

    run.json  scenario.yaml  lab.log  history/{operations,depth,faults,values}-000001.parquet …  final_state.parquet
    verdict.json  offenders.parquet  lateness.parquet  summary.json  plots/*.png  report.html

The first row is written by the lab while it runs, the second by the analysis, which can be repeated at any time.
``run.json`` is there first, and the tables of ``history`` are in segments: so a run can be read while it goes on, and
after its lab was killed. Runs of format 1 have each of these tables in one file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from analysis.message_classes import FORBIDDEN_DEFAULT, NEED_LEASES, NEED_PRIORITIES, MessageClass
from analysis.runs.fault_bands import FaultBand, fault_bands
from analysis.runs.history import ADDED, DEPTH, FAULTS, FINAL_STATE, OPERATIONS
from analysis.runs.owner import Owner
from analysis.runs.segments import SEGMENTED, segment_path, segments_of, single_file
from analysis.runs.tables import FORMAT, FORMAT_KEY

NANOSECONDS_PER_MS = 1_000_000
ROWS_PER_BATCH = 32_768
KILLED = "the lab was killed while it ran"


class RunError(Exception):
    """A run directory cannot be analysed. The message is one line that names the file and what is wrong with it."""


class CutOff(RunError):
    """The lab was killed while it wrote."""


class TooNew(RunError):
    """A newer program wrote it."""


class QueueInfo(BaseModel):
    """Which engine ran, which zone serves each shard, and what the engine promises (``engine.queue.Features``).

    ``early_ms_max``: how long before it is due it may serve a message.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    engine: str
    shards: dict[str, str]
    early_ms_max: int = 1
    leases: bool = True
    priorities: bool = True

    @property
    def not_judged(self) -> tuple[MessageClass, ...]:
        """The classes for which the engine lacks the means."""
        return (*(() if self.leases else NEED_LEASES), *(() if self.priorities else NEED_PRIORITIES))


class SessionInfo(BaseModel):
    """A cluster that somebody used by hand: clients and what they did are unknown, so there is nothing to judge."""

    model_config = ConfigDict(extra="allow", frozen=True)

    zones: tuple[str, ...]
    lag: str
    time_factor: float


class WorkloadInfo(BaseModel):
    """What the clients did, if it was not a queue: ``analysis.runs.accesses.WorkloadKind``, and what was forbidden."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str
    forbid: tuple[str, ...]
    budget_configurations: int = 200_000


def _known_class(name: object) -> object:
    if name not in set(MessageClass):
        raise ValueError(f"{name!r} is not a message class; known are {', '.join(MessageClass)}")
    return name


class RunInfo(BaseModel):
    """``run.json``: what was run, when, on what, and how it ended.

    ``format``: ``analysis.runs.tables.FORMAT`` when it was written. ``run_id``: 16 hexadecimal digits, other in every
    run; of runs of format 1 made from their ``run.json``. ``status``: ``running`` only while its ``owner`` lives, if it
    can be told; a run whose lab was killed is ``interrupted``. ``segments``: how many each table has, once it is over.
    ``program``: a fingerprint of all source files, those of a queue of the user's own included.
    ``epoch_ns`` ties the two clocks of a run together: wall clock in ns = ``epoch_ns`` + run time in ns.
    ``phases`` maps a phase to its begin and end in run time (ns). ``drained``: the queue ran empty within its bound.
    ``unread_zones``: zones whose end state could not be read. ``longest_stall_ms``: the longest that the lab's own
    process was kept from running; if it nears ``shortest_time_out_ms``, the lab and not the cluster may miss time-outs.
    ``stall_p99_ms``: how late it was in all but one of a hundred looks; latencies that are not much longer are its own.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    format: int = 1
    run_id: str = ""
    owner: Owner | None = None
    segments: dict[str, int] = {}
    zonelab_version: str
    git_commit: str | None = None
    program: str | None = None
    scenario: str
    level: str
    seed: int
    arm: str = "real"
    zones: str | None = None
    server: str | None = None
    python: str | None = None
    platform: str | None = None
    started_utc: str
    epoch_ns: int
    status: Literal["running", "complete", "interrupted", "failed"]
    error: str | None = None
    phases: dict[str, tuple[int, int]] = {}
    drained: bool = False
    unread_zones: tuple[str, ...] = ()
    queue: QueueInfo
    workload: WorkloadInfo | None = None
    session: SessionInfo | None = None
    coordinators: dict[str, dict[str, Any]] = {}
    longest_stall_ms: float | None = None
    stall_p99_ms: float | None = None
    shortest_time_out_ms: float | None = None
    forbid: tuple[Annotated[MessageClass, BeforeValidator(_known_class)], ...] = FORBIDDEN_DEFAULT
    command: str = ""

    @property
    def zone_names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.queue.shards.values(), *self.coordinators, *self.unread_zones}))

    @property
    def doubt(self) -> str | None:
        """Why the run says less than a complete one; None if it is complete."""
        if self.status in ("complete", "running"):
            return None if self.status == "complete" else "the run is still going on"
        return f"the run was {self.status}" + (f": {self.error}" if self.error else "")

    def wall_ms(self, time_ns: int) -> int:
        """The wall clock of the run at run time ``time_ns``, in whole milliseconds."""
        return (self.epoch_ns + time_ns) // NANOSECONDS_PER_MS


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDirectory:
    """The files of one run. ``open`` and every reader raise ``RunError``."""

    path: Path
    info: RunInfo

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open ``path``, which may be a link such as ``latest``, and validate its ``run.json``."""
        directory = Path(path)
        if not directory.is_dir():
            what = "is a file, not a run directory" if directory.exists() else "no such run directory"
            raise RunError(f"{directory}: {what}")
        directory = directory.resolve()
        if not (directory / "run.json").exists():
            raise _no_run_file(directory)
        run = cls(path=directory, info=_run_info(directory / "run.json"))
        return run._as_far_as_it_is() if run.info.status == "running" else run

    def _as_far_as_it_is(self) -> Self:
        """Who has begun says that it runs; the phase that it is in lasts until the last event that is on record."""
        changes: dict[str, Any] = {}
        if self.info.owner is not None and self.info.owner.is_gone():
            changes = {"status": "interrupted", "error": KILLED}
        if self.info.phases:
            name, (begin_ns, end_ns) = max(self.info.phases.items(), key=lambda phase: phase[1])
            changes["phases"] = {**self.info.phases, name: (begin_ns, max(end_ns, self._last_ns()))}
        return type(self)(path=self.path, info=self.info.model_copy(update=changes))

    def _last_ns(self) -> int:
        """0 if nothing is on record, or cannot be read: whoever reads it will say so."""
        with suppress(RunError, IndexError), _parquet(self.files("operations")[-1], OPERATIONS) as file:
            metadata, column = file.metadata, OPERATIONS.names.index("time_ns")
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
                raise _missing(path)
        return found

    def operation_rows(self) -> int:
        return sum(_rows(path, OPERATIONS) for path in self.files("operations"))

    def operations(
        self, columns: Sequence[str] | None = None, *, batch_rows: int = ROWS_PER_BATCH
    ) -> Iterator[pa.RecordBatch]:
        """The history in order, a batch of at most ``batch_rows`` at a time, ``columns`` only if given."""
        return self._batches("operations", OPERATIONS, columns, batch_rows)

    def _batches(
        self, table: str, schema: pa.Schema, columns: Sequence[str] | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        for path in self.files(table):
            yield from _batches(path, schema, columns, batch_rows)

    @property
    def final_state_known(self) -> bool:
        """Whether any zone's end state was recorded: an interrupted run may have none."""
        return (self.path / "final_state.parquet").exists() or self.info.status == "complete"

    def final_state_rows(self) -> int:
        if not self.final_state_known:
            return 0
        return _rows(self.path / "final_state.parquet", FINAL_STATE)

    def final_state(
        self, columns: Sequence[str] | None = None, *, batch_rows: int = ROWS_PER_BATCH
    ) -> Iterator[pa.RecordBatch]:
        """What each zone held at the end, by batches; nothing if the run was cut short before it was read."""
        if not self.final_state_known:
            return iter(())
        return _batches(self.path / "final_state.parquet", FINAL_STATE, columns, batch_rows)

    def faults(self) -> list[FaultBand]:
        """The faults in the order of their begin; none if the run ended before the first was recorded."""
        batches = self._batches("faults", FAULTS, None, ROWS_PER_BATCH)
        return fault_bands(row for batch in batches for row in batch.to_pylist())

    def depth(self) -> pa.Table:
        """Queue depth samples, columns as in ``history.DEPTH``; empty if the run ended before they were written."""
        found = self.table("depth", DEPTH)
        return DEPTH.empty_table() if found is None else found

    def table(self, name: str, schema: pa.Schema) -> pa.Table | None:
        """The table ``name`` of this directory, or None if the run ended before any of it was written."""
        if not self.files(name) and self.info.status != "complete":
            return None
        batches = list(self._batches(name, schema, None, ROWS_PER_BATCH))
        return pa.Table.from_batches(batches) if batches else schema.empty_table()

    def lateness(self) -> pa.Table:
        """The checker's ``lateness.parquet``: zone, lateness_ms, deliveries."""
        path = self.path / "lateness.parquet"
        with _reading(path):
            return pq.read_table(path)

    def scenario_text(self) -> str:
        with _reading(self.path / "scenario.yaml") as path:
            return path.read_text(encoding="utf-8")

    def read_json(self, name: str) -> Any:
        with _reading(self.path / name) as path:
            return json.loads(path.read_text(encoding="utf-8"))

    def write_json(self, name: str, value: Mapping[str, Any]) -> Path:
        """Write ``name`` whole or not at all."""
        path = self.path / name
        partial = path.with_name(name + ".partial")
        with _reading(path):
            partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            partial.replace(path)
        return path


def _rows(path: Path, schema: pa.Schema) -> int:
    with _parquet(path, schema) as file:
        return int(file.metadata.num_rows)


def _missing(path: Path) -> RunError:
    partial = path.with_name(path.name + ".partial")
    if partial.exists():
        return CutOff(f"{path}: only {partial.name} is there: {KILLED}")
    return RunError(f"{path}: missing")


def _no_run_file(directory: Path) -> RunError:
    words = f"{directory}: not a run directory: it has no run.json"
    if (directory / "history" / "operations.parquet.partial").exists():
        return CutOff(f"{words} (history/operations.parquet.partial is there: {KILLED})")
    return RunError(words)


def _run_info(path: Path) -> RunInfo:
    with _reading(path):
        text = path.read_text(encoding="utf-8")
    _refuse_newer(path, text)
    try:
        info = RunInfo.model_validate_json(text)
        return info if info.run_id else info.model_copy(update={"run_id": sha256(text.encode()).hexdigest()[:16]})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "content"
        shown = "" if first["type"] == "missing" else f", got {str(first['input'])[:60]!r}"
        raise RunError(f"{path}: {where}: {first['msg']}{shown}") from error


def _refuse_newer(path: Path, text: str) -> None:
    """Before anything else: what a newer program means by the other fields nobody knows."""
    try:
        written = json.loads(text).get("format", 1)
    except (ValueError, AttributeError):
        return
    if isinstance(written, int) and written > FORMAT:
        raise TooNew(f"{path}: {_newer(written)}")


def _newer(written: int) -> str:
    return f"written by a newer zonelab, in format {written}; this one reads up to {FORMAT}"


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Turn whatever goes wrong with ``path`` into one ``RunError`` line."""
    try:
        yield path
    except FileNotFoundError as error:
        raise _missing(path) from error
    except (pa.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: truncated, corrupt or unreadable: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetFile]:
    with _reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        written = int((file.schema_arrow.metadata or {}).get(FORMAT_KEY, b"1"))
        if written > FORMAT:
            raise TooNew(f"{path}: {_newer(written)}")
        found = set(file.schema_arrow.names)
        missing = [name for name in schema.names if name not in found and name not in ADDED]
        if missing:
            raise RunError(f"{path}: not written by this version: column {', '.join(missing)} is missing")
        yield file


def _batches(path: Path, schema: pa.Schema, columns: Sequence[str] | None, batch_rows: int) -> Iterator[pa.RecordBatch]:
    with _parquet(path, schema) as file:
        # One thread decodes as fast as one thread judges, and does not hold several row groups in memory.
        wanted = [name for name in schema.names if columns is None or name in columns]
        for batch in file.iter_batches(batch_size=batch_rows, columns=wanted, use_threads=False):
            yield batch if set(wanted) <= set(batch.schema.names) else _completed(batch, schema, wanted)


def _completed(batch: pa.RecordBatch, schema: pa.Schema, wanted: Sequence[str]) -> pa.RecordBatch:
    """``batch`` with nulls for the columns that an older run lacks."""
    fields = [schema.field(name) for name in wanted]
    found = set(batch.schema.names)
    columns = [batch[one.name] if one.name in found else pa.nulls(len(batch), one.type) for one in fields]
    return pa.RecordBatch.from_arrays(columns, names=list(wanted))
