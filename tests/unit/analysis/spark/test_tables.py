"""Goal: the tables say of runs what the checker says, each run once, and are not read twice. Method: runs with planted
cases added in two steps; and tables in which somebody counted twice.
"""

import contextlib
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.spark import classes
from zonelab.analysis.spark.aggregates import Aggregates, operation_figures
from zonelab.analysis.spark.inputs import find_runs
from zonelab.analysis.spark.pipeline import aggregate
from zonelab.analysis.tables.compaction import compact
from zonelab.analysis.tables.folder import TABLES, TableFolder

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        eventful_run(folder / "one").write(),
        eventful_run(folder / "two", seed=2, offset_ms=7).write(),
        eventful_run(folder / "three", level="DC_ONE").write(status="interrupted", forbid=[]),
        unserved_run(folder / "four"),
    ]


def unserved_run(path: Path) -> Path:
    """A complete run of which nothing is wrong but that its drain ended too soon for one message."""
    run = RunBuilder(path, scenario="eventful", level="DC_QUORUM")
    run.push("left", at_ms=2, due_ms=18_000)
    for zone in "abc":
        run.listed("left", zone=zone)
        run.payload("left", zone=zone)
    run.push("served", at_ms=2, due_ms=17_000)
    run.ack("served", run.pop("served", at_ms=19_500), at_ms=19_505)
    return run.write()


@pytest.fixture(scope="module")
def filled(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[TableFolder, Aggregates]:
    out = tmp_path_factory.mktemp("out")
    with contextlib.chdir(out):  # Spark works in another directory than we
        aggregate(runs[:1], master="local[1]", out=Path("tables"))
    return TableFolder.opened(out / "tables"), aggregate(runs, master="local[1]", out=out / "tables")


@pytest.fixture
def folder(filled: tuple[TableFolder, Aggregates], tmp_path: Path) -> TableFolder:
    """A copy, which a test may change."""
    return TableFolder(shutil.copytree(filled[0].path, tmp_path / "copy"))


def rows(folder: TableFolder, table: str) -> list[dict[str, Any]]:
    return [row for path in folder.files(table) for row in pq.ParquetFile(path).read().to_pylist()]


def ids(runs: list[Path]) -> dict[str, Path]:
    return {run.run_id: Path(run.place) for run in find_runs(runs).runs}


def test_the_tables_say_what_the_checker_says(folder: TableFolder, runs: list[Path]) -> None:
    words = {True: "valid", False: "invalid", "unknown": "unknown"}
    verdicts = {row["run_id"]: row for row in rows(folder, "verdicts")}
    in_messages = Counter((row["run_id"], cls) for row in rows(folder, "messages") for cls in row["classes"])
    for run_id, path in ids(runs).items():
        verdict = check(path)
        assert verdicts[run_id]["valid"] == words[verdict.valid]
        assert verdict.counts[MessageClass.UNSERVED] == (path.name == "four")
        assert {name: verdicts[run_id][name] for name in classes.CLASSES} == {
            name: verdict.counts[name] for name in classes.CLASSES
        }
        for name in (MessageClass.LOST, MessageClass.STUCK, MessageClass.RECOVERED, MessageClass.UNEXPECTED):
            assert in_messages[run_id, name] == verdict.counts[name]
        events = {index for batch in RunDirectory.open(path).operations(["index"]) for index in batch[0].to_pylist()}
        assert len(events) == sum(row["run_id"] == run_id for row in rows(folder, "operations"))
        faults = [(band.fault, band.end_ns) for band in RunDirectory.open(path).faults()]
        mine = [row for row in rows(folder, "faults") if row["run_id"] == run_id]
        assert faults == sorted((row["fault"], row["end_ns"]) for row in mine)


def test_figures_of_the_tables_equal_those_of_the_histories(
    filled: tuple[TableFolder, Aggregates], runs: list[Path]
) -> None:
    assert filled[1] == aggregate(runs, master="local[1]")


def test_a_run_that_is_there_is_not_read_again_and_needs_no_spark(
    filled: tuple[TableFolder, Aggregates], runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert aggregate([*runs, *runs], out=filled[0].path) == filled[1]


def test_compaction_changes_no_figure(
    folder: TableFolder, runs: list[Path], filled: tuple[TableFolder, Aggregates]
) -> None:
    assert compact(folder) > 0
    assert aggregate(runs, out=folder.path) == filled[1]


def test_the_seconds_add_up_to_the_run(folder: TableFolder, runs: list[Path]) -> None:
    counts = [{**row, "setting": row["run_id"]} for row in rows(folder, "latency_counts")]
    order = ("setting", "f", "zone", "second")
    seconds = list(operation_figures(sorted(counts, key=lambda row: [row[key] for key in order])))
    assert len({row.second for row in seconds}) > 3
    (whole,) = (row for row in aggregate(runs[:1], out=folder.path).operations if (row.f, row.zone) == ("pop", "b"))
    parts = [row for row in seconds if (row.setting, row.f, row.zone) == (next(iter(ids(runs[:1]))), "pop", "b")]
    assert sum(row.ok for row in parts) == whole.ok
    assert sum((Counter(row.errors) for row in parts), Counter()) == whole.errors


def test_counts_that_were_merged_twice_are_refused(folder: TableFolder, runs: list[Path]) -> None:
    counts = folder.files("latency_counts")[0]
    once = pq.ParquetFile(counts).read()
    pq.write_table(once.take([*range(len(once)), *range(len(once))]), counts)
    with pytest.raises(RunError, match=r"events in operations and .* in latency_counts: it was counted twice"):
        aggregate(runs, out=folder.path)


def test_every_table_is_partitioned_by_scenario_and_level(folder: TableFolder) -> None:
    for table in TABLES:
        parts = {path.parent.relative_to(folder.path).as_posix() for path in folder.files(table)}
        assert parts == {f"{table}/scenario=eventful/level={level}" for level in ("DC_ONE", "DC_QUORUM")}


def test_the_examples_of_the_page_run_as_they_stand(folder: TableFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SQL examples as well, in the session of the last example in Python."""
    page = (Path(__file__).parents[4] / "docs" / "analysis.md").read_text(encoding="utf-8")
    examples, queries = (re.findall(rf"```{kind}\n(.*?)```", page, re.S) for kind in ("python", "sql"))
    assert (len(examples), len(queries)) >= (2, 3)
    more = "".join(f"    answers.append(spark.sql({query!r}).toArrow())\n" for query in queries)
    monkeypatch.chdir(folder.path.rename(folder.path.with_name("tables")).parent)
    names: dict[str, Any] = {"answers": []}
    for example in (*examples[:-1], examples[-1] + more):
        exec(example, names)
    assert len(names["faults"]) > 0
    assert all(answer.num_rows > 0 for answer in names["answers"])
    assert len(names["answers"]) == len(queries)
