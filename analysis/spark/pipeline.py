"""Aggregates over any number of runs, on Spark: one machine with ``local[*]``, or a cluster when runs outgrow it.

The input is run directories as they are on storage that every executor can read. Spark gives back integers
only, and no more of them than there are kinds and buckets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from zonelab.analysis.spark import classes
from zonelab.analysis.spark.aggregates import Aggregates, Row, SettingFigures, delivery_figures, operation_figures
from zonelab.analysis.spark.counts import count_query
from zonelab.analysis.spark.filling import fill
from zonelab.analysis.spark.from_tables import aggregates_of
from zonelab.analysis.spark.groups import grouped
from zonelab.analysis.spark.inputs import Inputs, RunInput, find_runs, is_remote
from zonelab.analysis.spark.order.counts import order_counts, order_figures
from zonelab.analysis.spark.queries import KEPT
from zonelab.analysis.spark.session import INTERPRETED, SparkFailed, spark_session
from zonelab.analysis.spark.storage import Storage
from zonelab.analysis.spark.views import FAULTS_OF_RUNS, create_views, optional_table
from zonelab.analysis.tables.folder import TableFolder

_BRIEF_ROWS_MAX = 200_000


def aggregate(
    given: Sequence[str | Path],
    *,
    master: str = "local[*]",
    out: Path | None = None,
    strict: bool = False,
    settings: Mapping[str, str] | None = None,
    begins: Callable[[int, int], None] = lambda runs, rows: None,
) -> Aggregates:
    """Aggregate the runs at paths, patterns and URIs per setting, operation and zone.

    Runs of one setting differ in nothing but their seed. What is no readable run of a queue is left out; ``strict``:
    broken runs are an error. ``out``: a folder of tables to which runs are added that are not there yet; of the others
    nothing but the tables is read. ``settings`` are Spark's. ``begins`` hears before Spark starts how many runs of this
    machine will be read, and how many rows they have.

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
    new = _new(found.runs, folder)
    rows = sum(run.rows for run in new)
    brief = master.startswith("local") and not remote and rows < _BRIEF_ROWS_MAX
    with (
        TemporaryDirectory(prefix="zonelab-runs-") as copies,
        spark_session(
            master=master,
            brief=brief,
            rows=rows,
            settings={**(INTERPRETED if brief else {}), **(settings or {})},
            begins=partial(begins, len(new), rows),
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
                create_views(session, new, [run.place for run in new], keep=(*KEPT, "operations"))
                optional_table(session, dict(enumerate(new)), "faults", FAULTS_OF_RUNS).createOrReplaceTempView(
                    "faults"
                )
                fill(session, new, folder)
        except PySparkException as error:
            raise SparkFailed(f"a Spark job failed: {_cause(error)}") from error
    return aggregates_of(folder, [run.run_id for run in found.runs], found.left_out)


def _cause(error: PySparkException) -> str:
    """Return what went wrong at the bottom of it, rather than that a job was aborted."""
    lines = str(error).splitlines()
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return (causes[-1].removeprefix("Caused by: ") if causes else lines[0])[:200]


def _new(runs: Sequence[RunInput], folder: TableFolder | None) -> list[RunInput]:
    return [run for run in runs if folder is None or not folder.has(run.run_id)]


def _aggregate(session: SparkSession, found: Inputs) -> Aggregates:
    names, differs = grouped([run.directory for run in found.runs])
    create_views(session, found.runs, names)
    counted = _counted(session, "setting", "f", "zone")
    order = order_counts(session, found.runs)
    setting_of = {run.place: name for run, name in zip(found.runs, names, strict=True)}
    return Aggregates(
        operations=tuple(operation_figures(counted)),
        settings=tuple(
            replace(
                _setting(row.asDict(), counted),
                order=order_figures(one for place, one in order.items() if setting_of[place] == row["setting"]),
            )
            for row in session.sql(classes.SETTINGS).collect()
        ),
        differs=differs,
        left_out=found.left_out,
    )


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
