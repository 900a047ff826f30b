"""Aggregates over any number of runs, on Spark: one machine with ``local[*]``, or a cluster when runs outgrow it.

The input is run directories as they are on storage that every executor can read. Spark gives back integers
only, and no more of them than there are kinds and buckets.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from analysis.runs.history import ADDED, FAULTS
from analysis.spark import classes, queries
from analysis.spark.aggregates import Aggregates, Row, SettingFigures, delivery_figures, operation_figures
from analysis.spark.counts import count_query
from analysis.spark.filling import fill
from analysis.spark.from_tables import aggregates_of
from analysis.spark.groups import grouped
from analysis.spark.inputs import Inputs, RunInput, find_runs, is_remote, place_of
from analysis.spark.session import SparkFailed, spark_session
from analysis.spark.storage import Storage
from analysis.tables.folder import TableFolder

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
        ("not_judged", pa.list_(pa.string())),
        ("run_id", pa.string()),
    ]
)
_FINAL_STATE = pa.schema(
    [
        ("run", pa.string()),
        ("zone", pa.string()),
        ("shard", pa.string()),
        ("place", pa.string()),
        ("message_id", pa.string()),
        ("serving", pa.bool_()),
    ]
)
_FAULTS = FAULTS.insert(0, pa.field("run", pa.string()))
_OWNERS = pa.schema([("file", pa.string()), ("run", pa.string())])
_BRIEF_ROWS_MAX = 200_000


def aggregate(
    given: Sequence[str | Path],
    *,
    master: str = "local[*]",
    out: Path | None = None,
    strict: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Aggregates:
    """Aggregate the runs at paths, patterns and URIs per setting, operation and zone.

    Runs of one setting differ in nothing but their seed. What is no readable run of a queue is left out; ``strict``:
    broken runs are an error. ``out``: a folder of tables to which runs are added that are not there yet; of the others
    nothing but the tables is read. ``settings`` are Spark's.

    Raises ``RunError`` if no run is left, ``JavaMissing``, and ``SparkFailed``.
    """
    folder = None if out is None else TableFolder.made(out)
    found = find_runs(one for one in given if not is_remote(one))
    found = found.finished() if folder else found
    remote = [one for one in given if is_remote(one)]
    if not remote:
        found.usable(strict=strict)
        if folder and not _new(found.runs, folder):
            return aggregates_of(folder, [run.run_id for run in found.runs], found.left_out)
    rows = sum(run.rows for run in _new(found.runs, folder))
    with (
        TemporaryDirectory(prefix="zonelab-runs-") as copies,
        spark_session(
            master=master,
            brief=master.startswith("local") and not remote and rows < _BRIEF_ROWS_MAX,
            settings=settings or {},
        ) as session,
    ):
        if remote:
            found = found.and_also(find_runs(remote, storage=Storage(session), copies=Path(copies)))
            found = found.finished() if folder else found
        found.usable(strict=strict)
        try:
            if folder is None:
                return _aggregate(session, found)
            if new := _new(found.runs, folder):
                create_views(session, new, [run.place for run in new])
                _optional(session, new, "faults", _FAULTS).createOrReplaceTempView("faults")
                fill(session, new, folder)
        except PySparkException as error:
            raise SparkFailed(f"a Spark job failed: {_cause(error)}") from error
    return aggregates_of(folder, [run.run_id for run in found.runs], found.left_out)


def _cause(error: PySparkException) -> str:
    """What went wrong at the bottom of it, rather than that a job was aborted."""
    lines = str(error).splitlines()
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return (causes[-1].removeprefix("Caused by: ") if causes else lines[0])[:200]


def _new(runs: Sequence[RunInput], folder: TableFolder | None) -> list[RunInput]:
    return [run for run in runs if folder is None or not folder.has(run.run_id)]


def _aggregate(session: SparkSession, found: Inputs) -> Aggregates:
    names, differs = grouped([run.directory for run in found.runs])
    create_views(session, found.runs, names)
    counted = _counted(session, "setting", "f", "zone")
    return Aggregates(
        operations=tuple(operation_figures(counted)),
        settings=tuple(_setting(row.asDict(), counted) for row in session.sql(classes.SETTINGS).collect()),
        differs=differs,
        left_out=found.left_out,
    )


def create_views(
    session: SparkSession,
    runs: Sequence[RunInput],
    settings: Sequence[str],
    *,
    views: Mapping[str, str] = queries.VIEWS,
) -> None:
    """Make the tables of ``runs`` and ``views`` of them known to ``session``. ``settings``: the setting of each run."""
    _register(session, runs, settings)
    for name, query in views.items():
        view = session.sql(query)
        if name in queries.CACHED:
            view = view.cache()
        view.createOrReplaceTempView(name)


def _register(session: SparkSession, runs: Sequence[RunInput], settings: Sequence[str]) -> None:
    rows = [_run_row(run, setting) for run, setting in zip(runs, settings, strict=True)]
    _small(session, rows, _RUNS).createOrReplaceTempView("runs")
    _read(session, runs, "operations", added=ADDED).createOrReplaceTempView("history")
    _optional(session, runs, "final_state", _FINAL_STATE).createOrReplaceTempView("final_state")


def _optional(session: SparkSession, runs: Sequence[RunInput], name: str, schema: pa.Schema) -> DataFrame:
    """A table that some runs have not got, or none."""
    having = [run for run in runs if run.files(name)]
    return _read(session, having, name) if having else _small(session, [], schema)


def _small(session: SparkSession, rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
    """``rows`` as a table. By way of Arrow, since a list would start Python workers to be read."""
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return session.createDataFrame(pa.Table.from_pylist(named, schema=schema))


def _run_row(run: RunInput, setting: str) -> tuple[Any, ...]:
    info, state_known = run.directory.info, run.directory.final_state_known
    unread = set(info.unread_zones) if state_known else set(info.zone_names)
    unread_shards = [shard for shard, zone in info.queue.shards.items() if zone in unread]
    complete = state_known and not unread
    return (
        run.place,
        setting,
        info.epoch_ns,
        info.status == "complete",
        complete,
        unread_shards,
        info.queue.early_ms_max,
        info.queue.leases,
        [str(name) for name in info.queue.not_judged],
        run.run_id,
    )


def _read(session: SparkSession, runs: Sequence[RunInput], name: str, *, added: Sequence[str] = ()) -> DataFrame:
    """The table ``name`` of all ``runs`` with the place of each row's run as ``run``.

    Spark takes the schema of any of the files; a file has null where it lacks one of ``added``.
    """
    owner_of = {file: run.place for run in runs for file in run.files(name)}
    table = session.read.parquet(*owner_of)
    lacking = [column for column in added if column not in table.columns]
    if lacking:
        fields = [*table.schema.fields, *(StructField(column, LongType()) for column in lacking)]
        table = session.read.schema(StructType(fields)).parquet(*owner_of)
    # Spark names files by escaped URIs; the map from those to runs is small.
    owners = [(file, owner_of[place_of(file)]) for file in table.inputFiles()]
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
        totals={name: row[name] for name in classes.TOTALS},
        counts={name: row[name] for name in classes.CLASSES},
        runs_with={name: row[f"runs_{name}"] for name in classes.CLASSES},
        delivery=delivery_figures(one for one in counted if one["setting"] == row["setting"]),
    )
