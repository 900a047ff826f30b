"""Goal: what is counted while a run goes on is what its whole history says; nothing twice, whatever happens between.

Method: the segments of a run in which things go wrong, closed one after another while it is followed; batches that are
repeated, and segments that are there twice.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.latency_buckets import ERROR_MAX
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.owner import RunOwner
from zonelab.analysis.runs.segments import segment_path, segments_of
from zonelab.analysis.spark.following.batches import Batches
from zonelab.analysis.spark.following.follow import follow_in
from zonelab.analysis.spark.following.follower import Follower, SoFar
from zonelab.analysis.spark.session import spark_session
from zonelab.analysis.summary.run_summary import summarise
from zonelab.analysis.tables.folder import TableFolder

pytestmark = pytest.mark.java

CUTS = (0, 90, 200, 10**9)
"""Events at which segments begin: within messages, so that these are met again."""


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with spark_session(master="local[1]", brief=True) as begun:
        yield begun


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run when it is over, in three segments."""
    run = eventful_run(tmp_path_factory.mktemp("runs") / "run").write()
    (whole,) = segments_of(run, "operations")
    rows = pq.read_table(whole).replace_schema_metadata()  # which says that they were written as the first segment
    for number, (begin, end) in enumerate(pairwise(CUTS), 1):
        index = rows["index"]
        part = rows.filter(pc.and_(pc.greater_equal(index, begin), pc.less(index, end)))
        pq.write_table(part, segment_path(run, "operations", number))
    info = json.loads((run / "run.json").read_text())
    info["segments"]["operations"] = 3
    (run / "run.json").write_text(json.dumps(info))
    return run


@pytest.fixture
def running(ended: Path, tmp_path: Path) -> Path:
    """The run as it was when it had closed its first segment."""
    run = shutil.copytree(ended, tmp_path / "run")
    for number in (2, 3):
        path = segment_path(run, "operations", number)
        path.rename(path.with_name(path.name + ".partial"))
    owner = RunOwner.current()
    assert owner is not None
    change(run, status="running", owner=owner.model_dump(), segments={})
    return run


def change(run: Path, **changes: object) -> None:
    (run / "run.json").write_text(json.dumps(json.loads((run / "run.json").read_text()) | changes))


def close(run: Path, number: int) -> None:
    path = segment_path(run, "operations", number)
    path.with_name(path.name + ".partial").rename(path)


def follower_of(run: Path, tables: Path, *, classes_share: float = 0) -> Follower:
    directory = RunDirectory.open(run)
    batches = Batches.of(TableFolder.made(tables), directory.info.run_id)
    batches.checkpoint.mkdir(exist_ok=True)
    return Follower(directory, batches, classes_share=classes_share)


def segment(session: SparkSession, run: Path, number: int) -> DataFrame:
    return session.read.parquet(str(segment_path(run, "operations", number)))


def numbers(so_far: SoFar) -> dict[tuple[str, str], dict[str, int]]:
    return {
        (row.f, row.zone): {kind: getattr(row, kind) for kind in ("invoke", "ok", "fail", "info")}
        for row in so_far.aggregates.operations
    }


def test_batches_add_up_to_what_the_summary_and_the_checker_say(
    session: SparkSession, ended: Path, tmp_path: Path
) -> None:
    for batch in range(3):
        follower = follower_of(ended, tmp_path / "tables", classes_share=batch // 2)  # which take long: only at the end
        follower.take(segment(session, ended, batch + 1), batch)
    found, summary, verdict = follower.so_far(), summarise(ended), check(ended)
    assert numbers(found) == {(o.f, o.zone): o.counts for o in summary.operations if o.zone != "all"}
    for row in found.aggregates.operations:
        expected = summary.operation(row.f, row.zone)
        assert expected is not None
        assert row.latency_ms == pytest.approx({q: expected.service_ms[q] for q in row.latency_ms}, rel=ERROR_MAX)
    (figures,) = found.aggregates.settings
    assert figures.delivery is not None
    late_ms = verdict.queue.lateness_ms["all"]
    assert figures.delivery.lateness_ms == pytest.approx(
        {name: late_ms[name] for name in figures.delivery.lateness_ms}, rel=ERROR_MAX
    )
    assert figures.counts == {str(name): count for name, count in verdict.counts.items()}
    assert found.through.events == found.through.last_index + 1


def test_a_repeated_batch_counts_once_and_one_that_was_not_finished_is_done_again(
    session: SparkSession, ended: Path, tmp_path: Path
) -> None:
    follower = follower_of(ended, tmp_path / "tables")
    follower.take(segment(session, ended, 1), 0)
    (follower.batches.path / "batch-000001.partial").mkdir()  # as of a process that was killed while it wrote
    follower.take(segment(session, ended, 2), 1)
    before = follower.so_far()
    again = follower_of(ended, tmp_path / "tables")
    again.take(segment(session, ended, 2), 1)
    assert numbers(again.so_far()) == numbers(before)
    assert again.so_far().through == before.through


@pytest.mark.parametrize("batch", [[2], [2, 3]], ids=["counts merged twice", "a segment read twice"])
def test_events_that_are_counted_twice_are_refused(
    session: SparkSession, ended: Path, tmp_path: Path, batch: Sequence[int]
) -> None:
    follower = follower_of(ended, tmp_path / "tables")
    follower.take(segment(session, ended, 1), 0)
    follower.take(segment(session, ended, 2), 1)
    rows = segment(session, ended, batch[0])
    for number in batch[1:]:
        rows = rows.union(segment(session, ended, number))
    with pytest.raises(RunError, match="a segment was read twice, or its counts were added twice"):
        follower.take(rows, 2)
    assert follower.batches.last() == 1


def test_a_batch_whose_predecessor_is_gone_is_refused(session: SparkSession, ended: Path, tmp_path: Path) -> None:
    follower = follower_of(ended, tmp_path / "tables")
    with pytest.raises(RunError, match=r"batch-000004: missing or unreadable: delete .* to begin anew"):
        follower.take(segment(session, ended, 1), 5)


def test_a_run_is_followed_over_a_restart_and_only_by_final_names(
    session: SparkSession, running: Path, tmp_path: Path
) -> None:
    tables, seen = tmp_path / "tables", list[SoFar]()

    def stop_after_the_first(runs: Sequence[SoFar]) -> None:
        seen.extend(runs)
        if runs[0].through.events:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow_in(session, [follower_of(running, tables)], stop_after_the_first)
    first = seen[-1].through
    assert first.last_index == CUTS[1] - 1

    def end_it(runs: Sequence[SoFar]) -> None:
        seen.extend(runs)
        if runs[0].through == first:
            close(running, 2)
            close(running, 3)
            change(running, status="complete")

    follow_in(session, [follower_of(running, tables)], end_it)
    events = len(
        {index for batch in RunDirectory.open(running).operations(["index"]) for index in batch[0].to_pylist()}
    )
    assert seen[-1].through.events == events
    assert seen[-1].status == "complete"


def test_a_run_whose_owner_died_ends_the_following(session: SparkSession, running: Path, tmp_path: Path) -> None:
    seen = list[SoFar]()

    def kill_it(runs: Sequence[SoFar]) -> None:
        seen.extend(runs)
        change(running, owner={"pid": 2**22, "namespace": 1, "start_ticks": 1, "boot_id": "of before"})

    follow_in(session, [follower_of(running, tmp_path / "tables")], kill_it)
    assert seen[-1].status in ("running", "interrupted")
    assert RunDirectory.open(running).info.status == "interrupted"


def test_who_follows_a_run_into_tables_does_so_alone(running: Path, tmp_path: Path) -> None:
    one, other = (follower_of(running, tmp_path / "tables") for _ in range(2))
    with one.batches.alone(), pytest.raises(RunError, match="another zonelab follows this run"), other.batches.alone():
        pass
