"""The tables of runs as the SQL of the pipeline sees them: views of a Spark session, one row a row of all the runs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from zonelab.analysis.runs.history import ADDED, FAULTS, OPERATIONS
from zonelab.analysis.spark import queries
from zonelab.analysis.spark.inputs import RunInput, place_of
from zonelab.analysis.spark.session import kept

_RUNS = pa.schema(
    [
        ("run", pa.int32()),
        ("place", pa.string()),
        ("setting", pa.string()),
        ("epoch_ns", pa.int64()),
        ("drained", pa.bool_()),
        ("drained_ms", pa.int64()),
        ("drained_ns", pa.int64()),
        ("zones", pa.int64()),
        ("complete", pa.bool_()),
        ("unread_shards", pa.list_(pa.string())),
        ("early_ms_max", pa.int64()),
        ("late_ms", pa.float64()),
        ("end_ns", pa.int64()),
        ("leases", pa.bool_()),
        ("not_judged", pa.list_(pa.string())),
        ("instants", pa.list_(pa.string())),
        ("run_id", pa.string()),
    ]
)
_DEATHS = pa.schema([("run", pa.int32()), ("process", pa.string()), ("death_ns", pa.int64())])
_FINAL_STATE = pa.schema(
    [
        ("run", pa.int32()),
        ("zone", pa.string()),
        ("shard", pa.string()),
        ("place", pa.string()),
        ("message_id", pa.string()),
        ("serving", pa.bool_()),
    ]
)
FAULTS_OF_RUNS = FAULTS.insert(0, pa.field("run", pa.int32()))
_OWNERS = pa.schema([("file", pa.string()), ("run", pa.int32())])


def create_views(
    session: SparkSession,
    runs: Sequence[RunInput],
    settings: Sequence[str],
    *,
    views: Mapping[str, str] = queries.VIEWS,
    keep: Collection[str] = queries.KEPT,
) -> None:
    """Make the tables of ``runs`` and ``views`` of them known to ``session``. ``settings``: the setting of each run.

    A run is called by its place in ``runs``, from 0: a number is less to move than a path. ``keep``: what several
    queries need of ``views``.
    """
    register_runs(session, runs, settings)
    by_number = dict(enumerate(runs))
    _read(session, by_number, "operations", added=ADDED).createOrReplaceTempView("history")
    optional_table(session, by_number, "final_state", _FINAL_STATE).createOrReplaceTempView("final_state")
    for name, query in views.items():
        view = session.sql(query)
        (kept(view) if name in keep else view).createOrReplaceTempView(name)


def register_runs(session: SparkSession, runs: Sequence[RunInput], settings: Sequence[str]) -> None:
    """Make the tables ``runs`` and ``deaths`` known to ``session``."""
    rows = [(number, *_run_row(*one)) for number, one in enumerate(zip(runs, settings, strict=True))]
    table = small_table(session, rows, _RUNS)
    deaths = [(number, *one) for number, run in enumerate(runs) for one in run.directory.info.deaths.items()]
    small_table(session, deaths, _DEATHS).createOrReplaceTempView("deaths")
    codes = sf.transform("unread_shards", lambda name: sf.xxhash64(name))
    table.withColumn("unread_shards", codes).createOrReplaceTempView("runs")


def optional_table(session: SparkSession, runs: Mapping[int, RunInput], name: str, schema: pa.Schema) -> DataFrame:
    """A table that some of ``runs``, by number, have not got, or none."""
    having = {number: run for number, run in runs.items() if run.files(name)}
    return _read(session, having, name) if having else small_table(session, [], schema)


def small_table(session: SparkSession, rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
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
        info.drain_end_ms,
        info.phases["drain"][1] if "drain" in info.phases else None,
        len(info.zone_names),
        complete,
        unread_shards,
        info.queue.early_ms_max,
        info.late_ms,
        info.end_ns,
        info.queue.leases,
        [str(name) for name in info.not_judged],
        list(info.queue.instants),
        run.run_id,
    )


def _read(session: SparkSession, runs: Mapping[int, RunInput], name: str, *, added: Sequence[str] = ()) -> DataFrame:
    """The table ``name`` of all ``runs``, by number, with the number of each row's run as ``run``.

    Spark takes the schema of any of the files; a file has null where it lacks one of ``added``.
    """
    owner_of = {file: number for number, run in runs.items() for file in run.files(name)}
    table = session.read.parquet(*owner_of)
    lacking = [column for column in added if column not in table.columns]
    if lacking:
        fields = [*table.schema.fields, *(StructField(column, _type_of(column)) for column in lacking)]
        table = session.read.schema(StructType(fields)).parquet(*owner_of)
    if len(numbers := set(owner_of.values())) == 1:
        return table.withColumn("run", sf.lit(*numbers))
    # Spark names files by escaped URIs; the map from those to runs is small.
    owners = [(file, owner_of[place_of(file)]) for file in table.inputFiles()]
    owner = small_table(session, owners, _OWNERS)
    return table.withColumn("file", sf.input_file_name()).join(sf.broadcast(owner), "file").drop("file")


def _type_of(column: str) -> LongType | StringType:
    """Return the type of a column of operations as Spark reads it."""
    return LongType() if pa.types.is_integer(OPERATIONS.field(column).type) else StringType()
