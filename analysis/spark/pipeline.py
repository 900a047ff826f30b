"""Aggregates over any number of runs, on Spark: one machine with ``local[*]``, or a cluster when runs outgrow it.

The input is run directories as they are on disk (on storage that every executor can read). Spark gives back integers
only, and no more of them than there are kinds and buckets.
"""

from collections.abc import Mapping, Sequence
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
from analysis.spark.aggregates import Aggregates, Row, SettingFigures, delivery_figures, operation_figures
from analysis.spark.counts import count_query
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


def aggregate(run_dirs: Sequence[Path], *, master: str = "local[*]", out: Path | None = None) -> Aggregates:
    """Aggregate ``run_dirs`` per setting, operation, zone and second, and write the tables to ``out`` if given.

    Runs of one setting differ in nothing but their seed. Directories that are no readable run of a queue are left out.
    Raises ``RunError`` if none is left, ``JavaMissing``, and ``SparkFailed``.
    """
    runs, left_out = _usable(run_dirs)
    rows = sum(pq.read_metadata(run.history_path).num_rows for run in runs)
    with spark_session(master=master, brief=master.startswith("local") and rows < _BRIEF_ROWS_MAX) as session:
        try:
            aggregates = _aggregate(session, runs, left_out, out)
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


def _aggregate(
    session: SparkSession, runs: Sequence[RunDirectory], left_out: Mapping[Path, str], out: Path | None
) -> Aggregates:
    names, differs = grouped(runs)
    _register(session, runs, names)
    for name, query in queries.VIEWS.items():
        view = session.sql(query)
        if name in ("operations", "outcomes", "classified"):
            view = view.cache()  # each of the queries below would compute them again
        view.createOrReplaceTempView(name)
    if out is not None:
        _write_counts(session, out)
    counted = _counted(session, "setting", "f", "zone")
    return Aggregates(
        operations=tuple(operation_figures(counted)),
        settings=tuple(_setting(row.asDict(), counted) for row in session.sql(queries.SETTINGS).collect()),
        differs=differs,
        left_out=left_out,
    )


def _write_counts(session: SparkSession, out: Path) -> None:
    """The counts of every second, written where they were made: they grow with the length of the runs."""
    counts = session.sql(count_query("setting", "f", "zone", "second"))
    counts.write.mode("overwrite").parquet((out / "latency_counts").absolute().as_uri())


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


def _counted(session: SparkSession, *keys: str) -> list[Row]:
    """Rows of counts, sorted by their keys: as many as there are kinds and buckets, however long the runs are."""
    counted = session.sql(count_query(*keys)).toArrow()
    rows: list[Row] = counted.sort_by([(key, "ascending") for key in keys]).to_pylist()
    return rows


def _setting(row: Mapping[str, Any], counted: Sequence[Row]) -> SettingFigures:
    return SettingFigures(
        setting=row["setting"],
        runs=row["runs"],
        totals={name: row[name] for name in queries.TOTALS},
        counts={name: row[name] for name in queries.CLASSES},
        runs_with={name: row[f"runs_{name}"] for name in queries.CLASSES},
        delivery=delivery_figures(one for one in counted if one["setting"] == row["setting"]),
    )
