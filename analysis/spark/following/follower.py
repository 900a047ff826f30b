"""Counts one run that is going on, batch by batch, and decides its classes now and then over all there is.

Counts are integers that add, so a batch costs what is in it. Classes need the whole history of each message: they are
made by the SQL of finished runs, as often as takes ``CLASSES_SHARE`` of the time, and are called what they are, so far.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.spark import classes
from zonelab.analysis.spark.aggregates import Aggregates, Row, SettingFigures, delivery_figures, operation_figures
from zonelab.analysis.spark.counts import operation_count_query
from zonelab.analysis.spark.following import waiting
from zonelab.analysis.spark.following.batches import Batches, Through, write_counts
from zonelab.analysis.spark.from_tables import COUNTS, added
from zonelab.analysis.spark.inputs import RunInput
from zonelab.analysis.spark.queries import OPERATIONS
from zonelab.analysis.spark.views import create_views, register_runs, small_table

CLASSES_SHARE = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class SoFar:
    """State of a run while it goes on. ``aggregates``: its operations through ``through.last_ns``.

    Its messages and classes are older, through ``classes_ns``: 0 if they were not decided yet. ``faults``: in force.
    """

    name: str
    status: str
    through: Through
    aggregates: Aggregates
    classes_ns: int
    faults: tuple[FaultBand, ...]


@dataclass(slots=True)
class Follower:
    """``classes_share``: 0 decides none. ``error``: what went wrong in ``take``; Spark makes words of its own of it."""

    run: RunDirectory
    batches: Batches
    classes_share: float = CLASSES_SHARE
    now_s: Callable[[], float] = time.monotonic
    error: Exception | None = None
    _classes: Mapping[str, int] = field(default_factory=dict)
    _classes_ns: int = 0
    _classes_not_before_s: float = 0.0

    @property
    def setting(self) -> str:
        return self.run.name

    def take(self, rows: DataFrame, batch: int) -> None:
        """Count ``rows``, the operations of one batch, unless the batch is counted. Raises ``RunError``."""
        try:
            if batch > self.batches.last():
                self._count(rows, batch)
            if self.classes_share and self.now_s() >= self._classes_not_before_s:
                self._decide(rows.sparkSession)
        except Exception as error:
            self.error = error
            raise

    def _count(self, rows: DataFrame, batch: int) -> None:
        session, before = rows.sparkSession, self.batches.through(batch - 1)
        cached = rows.withColumn("run", sf.lit(0)).cache()
        try:
            self._create_views(session, cached, batch)
            last_index, last_ns = session.sql("SELECT max(index), max(time_ns) FROM history").collect()[0]
            new = self._counted(session, operation_count_query("setting", "f", "zone"))
            through = Through(
                events=before.events + (pc.sum(new["cases"]).as_py() or 0),
                last_index=max(before.last_index, last_index),
                last_ns=max(before.last_ns, last_ns),
            )
            if through.twice:
                raise RunError(
                    f"{self.run.path}: {through.events:,} events are counted of {through.last_index + 1:,}: a segment "
                    f"was read twice, or its counts were added twice; delete {self.batches.path} to begin anew"
                )
            late = self._counted(session, waiting.LATENESS_COUNTS)
            with self.batches.added(batch) as staging:
                session.sql("SELECT * FROM wait_on").write.parquet(str(staging / "waiting"))
                counts = added(pa.concat_tables([self.batches.counts(batch - 1), new, late]))
                write_counts(staging, counts=counts, through=through)
        finally:
            cached.unpersist()

    def _create_views(self, session: SparkSession, rows: DataFrame, batch: int) -> None:
        register_runs(session, [self._input()], [self.setting])
        rows.createOrReplaceTempView("history")
        session.sql(OPERATIONS).createOrReplaceTempView("operations")
        waited = session.read.parquet(*self.batches.waiting(batch - 1)) if batch else None
        (waited or small_table(session, [], waiting.WAITING)).createOrReplaceTempView("waited")
        for name, query in waiting.VIEWS.items():
            session.sql(query).createOrReplaceTempView(name)

    def _counted(self, session: SparkSession, query: str) -> pa.Table:
        return session.sql(query).toArrow().select(COUNTS.names).cast(COUNTS)

    def _input(self) -> RunInput:
        run = RunDirectory.open(self.run.path)
        return RunInput(run_id=run.info.run_id, place=str(run.path), directory=run, rows=0)

    def _decide(self, session: SparkSession) -> None:
        begin_s, run = self.now_s(), self._input()
        create_views(session, [run], [self.setting])
        counts = session.sql("SELECT * FROM run_counts").collect()[0].asDict()
        session.catalog.clearCache()
        self._classes = {name: counts[name] or 0 for name in (*classes.TOTALS, *classes.CLASSES)}
        self._classes_ns = max(end_ns for _, end_ns in run.directory.info.phases.values())
        took_s = self.now_s() - begin_s
        self._classes_not_before_s = self.now_s() + took_s * (1 / self.classes_share - 1)

    def so_far(self) -> SoFar:
        """Return what there is to show; nothing of it changes until the next batch."""
        batch, run = self.batches.last(), RunDirectory.open(self.run.path)
        keys = [("f", "ascending"), ("zone", "ascending")]
        counts: list[Row] = self.batches.counts(batch).sort_by(keys).to_pylist()
        found, decided = tuple(operation_figures(counts)), self._classes
        figures = SettingFigures(
            setting=self.setting,
            runs=1,
            totals={name: decided[name] for name in classes.TOTALS if decided},
            counts={name: decided[name] for name in classes.CLASSES if decided},
            runs_with={name: min(1, decided[name]) for name in classes.CLASSES if decided},
            delivery=delivery_figures(counts),
        )
        return SoFar(
            name=run.name,
            status=run.info.status,
            through=self.batches.through(batch),
            aggregates=Aggregates(operations=found, settings=(figures,), differs={}, left_out={}),
            classes_ns=self._classes_ns,
            faults=tuple(band for band in run.faults() if band.end_ns is None),
        )
