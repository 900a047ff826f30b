"""Follows runs until they are over, and then analyses them as ``zonelab.analysis.spark.pipeline.aggregate`` does.

Spark's Structured Streaming hands over every segment once, by its final name: a segment that is still written bears
another. What was counted on the way has to be what the whole histories say in the end.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.segments import FOLDER
from zonelab.analysis.spark.aggregates import Aggregates
from zonelab.analysis.spark.following.batches import Batches
from zonelab.analysis.spark.following.follower import Follower, SoFar
from zonelab.analysis.spark.inputs import Inputs, find_runs
from zonelab.analysis.spark.pipeline import aggregate
from zonelab.analysis.spark.session import SparkFailed, on_a_line_of_its_own, spark_session
from zonelab.analysis.tables.folder import TableFolder

SEGMENTS = "operations-[0-9][0-9][0-9][0-9][0-9][0-9].parquet"
"""Names of closed segments, as Hadoop's patterns have it."""

_TRIGGER = "2 seconds"
_LOOK_S = 0.5
_NICE = 5

Watch = Callable[[Sequence[SoFar]], None]
"""Is shown the runs that are followed, whenever there is something new."""


def follow(
    given: Sequence[str | Path],
    *,
    out: Path,
    watch: Watch,
    master: str = "local[*]",
    strict: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Aggregates:
    """Follow those of the runs ``given`` that are going on, then add all of them to the tables at ``out``.

    Counts stay in ``out`` until their run is over, so following goes on where it was ended. Arguments and errors are
    those of ``zonelab.analysis.spark.pipeline.aggregate``; ``RunError`` also if what was followed is not what was
    analysed.
    """
    folder = TableFolder.made(out)
    followers = [
        Follower(run, Batches.of(folder, run.info.run_id)) for run in _going_on(find_runs(given), strict=strict)
    ]
    with ExitStack() as locks:
        for follower in followers:
            locks.enter_context(follower.batches.alone())
        if followers:
            with spark_session(
                master=master, brief=master.startswith("local"), nice=_NICE, settings=settings or {}
            ) as session:
                follow_in(session, followers, watch)
        found = aggregate(given, master=master, out=out, strict=strict, settings=settings)
        for follower in followers:
            _must_agree(folder, follower)
            follower.batches.delete()
    return found


def _going_on(found: Inputs, *, strict: bool) -> list[RunDirectory]:
    """Runs that have recorded nothing yet are among them."""
    running = [run.directory for run in found.runs if run.directory.info.status == "running"]
    begun = [RunDirectory.open(Path(place)) for place, left in found.left_out.items() if left.kind == "running"]
    if not begun:
        found.usable(strict=strict)
    return [*running, *begun]


def follow_in(session: SparkSession, followers: Sequence[Follower], watch: Watch) -> None:
    """Follow runs until none of them goes on any more. Raises ``RunError`` and ``SparkFailed``."""
    queries = [(follower, _started(session, follower)) for follower in followers]
    shown: list[int] = []
    try:
        while any(query.isActive for _, query in queries):
            for follower, query in queries:
                _raise_error(follower, query)
                if query.isActive and RunDirectory.open(follower.run.path).info.status != "running":
                    query.processAllAvailable()
                    query.stop()
            if (reached := [follower.batches.last() for follower in followers]) != shown:
                shown = reached
                watch([follower.so_far() for follower in followers])
            time.sleep(_LOOK_S)
    except (PySparkException, Py4JError) as error:
        for follower, _ in queries:
            if follower.error is not None:
                raise _explained(follower.error) from error
        raise _explained(error) from error
    finally:
        for _, query in queries:
            with suppress(Py4JError):
                on_a_line_of_its_own(query.stop)


def _started(session: SparkSession, follower: Follower) -> StreamingQuery:
    history = follower.run.path / FOLDER
    history.mkdir(exist_ok=True)
    schema = session.createDataFrame(OPERATIONS.empty_table()).schema
    rows = session.readStream.schema(schema).option("pathGlobFilter", SEGMENTS).parquet(str(history))
    return (
        rows.writeStream.foreachBatch(follower.take)
        .option("checkpointLocation", str(follower.batches.checkpoint))
        .trigger(processingTime=_TRIGGER)
        .start()
    )


def _raise_error(follower: Follower, query: StreamingQuery) -> None:
    if follower.error is not None:
        raise _explained(follower.error)
    if (error := query.exception()) is not None:
        raise _explained(error)


def _explained(error: Exception) -> Exception:
    if isinstance(error, (RunError, OSError)):
        return error
    return SparkFailed(f"a Spark job failed: {' '.join(str(error).split())[:200]}")


def _must_agree(folder: TableFolder, follower: Follower) -> None:
    """Two ways to the same counts: whoever has lost a segment, or read one twice, is found here at the latest."""
    entry = folder.entries().get(follower.run.info.run_id)
    through = follower.batches.through(follower.batches.last())
    if entry is not None and entry.rows("operations") != through.events:
        raise RunError(
            f"{follower.run.path}: followed, {through.events:,} events were counted; "
            f"the finished run has {entry.rows('operations'):,}"
        )
