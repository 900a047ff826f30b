"""Aggregates over any number of runs, on Spark: one machine with ``local[*]``, or a cluster when runs outgrow it.

The input is run directories as they are on disk (on storage that every executor can read). Quantiles are exact.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from analysis.runs.directory import RunDirectory, RunError
from analysis.runs.history import ADDED
from analysis.spark import queries
from analysis.spark.groups import grouped
from analysis.spark.session import SparkFailed, spark_session

_RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("setting", pa.string()),
        ("epoch_ns", pa.int64()),
        ("drained", pa.bool_()),
        ("complete", pa.bool_()),
        ("unread_shards", pa.list_(pa.string())),
        ("early_ms_max", pa.int64()),
        ("leases", pa.bool_()),
    ]
)
_FINAL_STATE = pa.schema(
    [("run", pa.string()), ("message_id", pa.string()), ("place", pa.string()), ("serving", pa.bool_())]
)
_OWNERS = pa.schema([("file", pa.string()), ("run", pa.string())])
_BRIEF_ROWS_MAX = 200_000
_QUANTILES = ("p50", "p90", "p99", "p999")


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryFigures:
    """What consumers got. ``lateness_ms``: quantiles of (delivery - due) over first deliveries, ``max`` included.

    ``duplicate_rate``: by cause, extra deliveries per first delivery; ``None`` where there was none.
    """

    deliveries: int
    first_deliveries: int
    early: int
    duplicates: Mapping[str, int]
    duplicate_rate: Mapping[str, float | None]
    lateness_ms: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationFigures:
    """One operation of one setting in one zone; in one second of run time, or over the whole run (``None``).

    Completions count in the second of their completion. ``errors``: completions by kind of error. ``latency_ms``:
    service latency of ``ok`` completions. ``delivery``: for pops that delivered something.
    """

    setting: str
    f: str
    zone: str
    second: int | None
    invoke: int
    ok: int
    fail: int
    info: int
    errors: Mapping[str, int]
    latency_ms: Mapping[str, float]
    delivery: DeliveryFigures | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingFigures:
    """All runs of one setting together; the counts mean what those of the checker's verdict mean.

    ``setting``: the level, and whatever else differs among all the runs given. ``runs_with``: in how many of ``runs``
    each class has a case. Messages of a run share its faults, so it is runs that can be counted as independent.
    """

    setting: str
    runs: int
    totals: Mapping[str, int]
    counts: Mapping[str, int]
    runs_with: Mapping[str, int]
    delivery: DeliveryFigures | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregates:
    """``differs``: by setting, what it has that others have not. ``left_out``: directories not used, and why."""

    seconds: tuple[OperationFigures, ...]
    operations: tuple[OperationFigures, ...]
    settings: tuple[SettingFigures, ...]
    differs: Mapping[str, str]
    left_out: Mapping[Path, str]

    def write(self, folder: Path) -> list[Path]:
        """Write ``aggregates.json`` and one Parquet file a table into ``folder``; returns the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        tables: dict[str, tuple[Any, ...]] = {
            "seconds": self.seconds,
            "operations": self.operations,
            "settings": self.settings,
        }
        paths = [folder / "aggregates.json"]
        rows = {name: [asdict(row) for row in table] for name, table in tables.items()}
        paths[0].write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
        for name, table in rows.items():
            paths.append(folder / f"{name}.parquet")
            pq.write_table(_table(table), paths[-1])
        return paths


def aggregate(run_dirs: Sequence[Path], *, master: str = "local[*]", out: Path | None = None) -> Aggregates:
    """Aggregate ``run_dirs`` per setting, operation, zone and second, and write the tables to ``out`` if given.

    Runs of one setting differ in nothing but their seed. Directories that are no readable run of a queue are left out.
    Raises ``RunError`` if none is left, ``JavaMissing``, and ``SparkFailed``.
    """
    runs, left_out = _usable(run_dirs)
    rows = sum(pq.read_metadata(run.history_path).num_rows for run in runs)
    with spark_session(master=master, brief=master.startswith("local") and rows < _BRIEF_ROWS_MAX) as session:
        try:
            aggregates = _aggregate(session, runs, left_out)
        except PySparkException as error:
            raise SparkFailed(f"a Spark job failed: {str(error).splitlines()[0]}") from error
    if out is not None:
        aggregates.write(out)
    return aggregates


def _usable(run_dirs: Sequence[Path]) -> tuple[list[RunDirectory], dict[Path, str]]:
    """Broken files are found here, before Spark starts."""
    if not run_dirs:
        raise RunError("no run directory was given")
    runs: dict[Path, RunDirectory] = {}
    left_out: dict[Path, str] = {}
    for path in run_dirs:
        try:
            run = RunDirectory.open(path)
            run.operation_rows(), run.final_state_rows()
        except RunError as error:
            left_out[path] = str(error)
        else:
            if run.info.session is not None:
                left_out[path] = f"{path}: a session of zonelab up, which has no messages"
            elif run.info.workload is not None:
                left_out[path] = f"{path}: its clients used no queue but {run.info.workload.kind}s"
            else:
                runs[run.path] = run
    if not runs:
        raise RunError("; ".join(left_out.values()))
    return list(runs.values()), left_out


def _aggregate(session: SparkSession, runs: Sequence[RunDirectory], left_out: Mapping[Path, str]) -> Aggregates:
    names, differs = grouped(runs)
    _register(session, runs, names)
    for name, query in queries.VIEWS.items():
        view = session.sql(query)
        if name in ("operations", "outcomes", "classified"):
            view = view.cache()  # each of the queries below would compute them again
        view.createOrReplaceTempView(name)
    return Aggregates(
        seconds=_rows(session, queries.operation_query("setting", "f", "zone", "second")),
        operations=_rows(session, queries.operation_query("setting", "f", "zone")),
        settings=tuple(_setting(row.asDict()) for row in session.sql(queries.SETTINGS).collect()),
        differs=differs,
        left_out=left_out,
    )


def _register(session: SparkSession, runs: Sequence[RunDirectory], settings: Sequence[str]) -> None:
    rows = [_run_row(run, setting) for run, setting in zip(runs, settings, strict=True)]
    _small(session, rows, _RUNS).createOrReplaceTempView("runs")
    history = _read(session, [run.history_path for run in runs], levels_up=2, added=ADDED)
    history.createOrReplaceTempView("history")
    states = [path for run in runs if (path := run.path / "final_state.parquet").exists()]
    state = _read(session, states, levels_up=1) if states else _small(session, [], _FINAL_STATE)
    state.createOrReplaceTempView("final_state")


def _small(session: SparkSession, rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
    """``rows`` as a table. By way of Arrow, since a list would start Python workers to be read."""
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return session.createDataFrame(pa.Table.from_pylist(named, schema=schema))


def _run_row(run: RunDirectory, setting: str) -> tuple[Any, ...]:
    info = run.info
    unread = set(info.unread_zones) if run.final_state_known else set(info.zone_names)
    unread_shards = [shard for shard, zone in info.queue.shards.items() if zone in unread]
    complete = run.final_state_known and not unread
    return (
        str(run.path),
        setting,
        info.epoch_ns,
        info.status == "complete",
        complete,
        unread_shards,
        info.queue.early_ms_max,
        info.queue.leases,
    )


def _read(session: SparkSession, paths: Sequence[Path], *, levels_up: int, added: Sequence[str] = ()) -> DataFrame:
    """The files as one table with the run directory of each row as ``run``, null where a file lacks one of ``added``.

    Spark takes the schema of any of the files.
    """
    files = [str(path) for path in paths]
    table = session.read.parquet(*files)
    lacking = [name for name in added if name not in table.columns]
    if lacking:
        fields = [*table.schema.fields, *(StructField(name, LongType()) for name in lacking)]
        table = session.read.schema(StructType(fields)).parquet(*files)
    # Spark names files by escaped URIs; the map from those to directories is small.
    names = {name: Path(unquote(urlparse(name).path)) for name in table.inputFiles()}
    owners = [(name, str(path.parents[levels_up - 1])) for name, path in names.items()]
    owner = _small(session, owners, _OWNERS)
    return table.withColumn("file", sf.input_file_name()).join(sf.broadcast(owner), "file").drop("file")


def _rows(session: SparkSession, query: str) -> tuple[OperationFigures, ...]:
    return tuple(_operation(row.asDict()) for row in session.sql(query).collect())


def _operation(row: Mapping[str, Any]) -> OperationFigures:
    return OperationFigures(
        **{name: row[name] for name in ("setting", "f", "zone", "invoke", "ok", "fail", "info")},
        second=row.get("second"),
        errors=dict(sorted((row["errors"] or {}).items())),
        latency_ms=_quantiles(row["latency_ms"], row["latency_max_ms"]),
        delivery=_delivery(row),
    )


def _setting(row: Mapping[str, Any]) -> SettingFigures:
    return SettingFigures(
        setting=row["setting"],
        runs=row["runs"],
        totals={name: row[name] for name in queries.TOTALS},
        counts={name: row[name] for name in queries.CLASSES},
        runs_with={name: row[f"runs_{name}"] for name in queries.CLASSES},
        delivery=_delivery(row),
    )


def _delivery(row: Mapping[str, Any]) -> DeliveryFigures | None:
    if not row["deliveries"]:
        return None
    duplicates = {cause: row[cause] for cause in ("redelivered", "concurrent", "resurrected")}
    first = row["first_deliveries"]
    return DeliveryFigures(
        deliveries=row["deliveries"],
        first_deliveries=first,
        early=row["early"],
        duplicates=duplicates,
        duplicate_rate={cause: count / first if first else None for cause, count in duplicates.items()},
        lateness_ms=_quantiles(row["lateness_ms"], row["lateness_max_ms"]),
    )


def _quantiles(values: Sequence[float] | None, largest: float | None) -> dict[str, float]:
    if values is None or largest is None:
        return {}
    return {**dict(zip(_QUANTILES, values, strict=True)), "max": float(largest)}


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """All columns that any row has; a row without one, such as a push without lateness, holds null there."""
    flat = [_flat(row) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    return pa.table({name: [row.get(name) for row in flat] for name in names})


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Nested names joined by ``_``, free-form maps as JSON: a table that any tool can read."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "errors":
            flat[name] = json.dumps(value)
        elif isinstance(value, Mapping):
            flat.update({f"{name}_{inner}": item for inner, item in _flat(value).items()})
        elif name != "delivery":
            flat[name] = value
    return flat
