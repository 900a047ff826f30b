"""Goal: Spark and the checker, which share no code, agree. Method: runs with planted cases of every class are
aggregated by both, and the counts, error kinds and quantiles must be equal.
"""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.analysis.runs import as_written_before, eventful_run
from support.app.commands import zonelab_here

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.latency_buckets import ERROR_MAX
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.spark.aggregates import Aggregates, SettingFigures
from zonelab.analysis.spark.groups import grouped
from zonelab.analysis.spark.inputs import NoRunFound
from zonelab.analysis.spark.pipeline import aggregate
from zonelab.analysis.spark.session import JavaMissing, SparkFailed, spark_session
from zonelab.analysis.summary.run_summary import Summary, summarise
from zonelab.app.cli.main import run_cli

QUANTILES = ("p50", "p90", "p99", "p999", "max")
COMPARED = tuple(map(str, MessageClass))

EARLIER = {"engine": "dyno", "shards": {zone: zone for zone in "abc"}, "early_ms_max": 60, "leases": False}
"""Of a queue without leases that may serve all of a run's early messages as early as they come."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs") / "with a space, a + and a %"
    return [
        eventful_run(folder / "one").write(),
        eventful_run(folder / "two", level="DC_ONE", offset_ms=7).write(unread_zones=["b"]),
        as_written_before(
            eventful_run(folder / "three", level="DC_ONE", seed=2).write(status="interrupted", queue=EARLIER)
        ),
    ]


@pytest.fixture(scope="module")
def unusable(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("unusable")
    broken = eventful_run(folder / "broken").write()
    history = broken / "history" / "operations-000001.parquet"
    history.write_bytes(history.read_bytes()[:-100])
    registers = eventful_run(folder / "registers").write(
        workload={"kind": "register", "forbid": [], "budget_configurations": 1}
    )
    return [broken, registers]


@pytest.fixture(scope="module")
def aggregates(runs: list[Path], unusable: list[Path]) -> Aggregates:
    return aggregate([*runs, *unusable], master="local[2]")


@pytest.fixture(scope="module")
def checked(runs: list[Path]) -> dict[Path, tuple[Verdict, Summary]]:
    return {run: (check(run), summarise(run)) for run in runs}


def figures_of(aggregates: Aggregates, name: str) -> SettingFigures:
    (figures,) = (row for row in aggregates.settings if row.setting == name)
    return figures


@pytest.mark.java
def test_the_counts_of_every_class_equal_those_of_the_checker(
    aggregates: Aggregates, runs: list[Path], checked: dict[Path, tuple[Verdict, Summary]]
) -> None:
    for name, members in (("DC_QUORUM", runs[:1]), ("DC_ONE", runs[1:])):
        figures, verdicts = figures_of(aggregates, name), [checked[run][0] for run in members]
        assert figures.runs == len(members)
        assert figures.counts == {cls: sum(verdict.counts[cls] for verdict in verdicts) for cls in COMPARED}
        assert figures.runs_with == {cls: sum(verdict.counts[cls] > 0 for verdict in verdicts) for cls in COMPARED}
        totals = sum((verdict.totals for verdict in verdicts), start=type(verdicts[0].totals)())
        assert figures.totals == {total: getattr(totals, total) for total in figures.totals}


@pytest.mark.java
def test_an_operation_of_which_only_a_moment_is_known_has_no_latency(tmp_path: Path) -> None:
    queue = {"engine": "programs", "shards": EARLIER["shards"], "instants": ["pop"]}
    found = aggregate([eventful_run(tmp_path / "run").write(queue=queue)], master="local[2]").operations
    timed = {row.f: bool(row.latency_ms) for row in found if row.ok}
    assert (timed["push"], timed["pop"], timed["ack"]) == (True, False, True)


@pytest.mark.java
def test_the_planted_cases_are_all_counted(aggregates: Aggregates) -> None:
    counts = figures_of(aggregates, "DC_QUORUM").counts
    assert counts == {
        "lost": 3,
        "stuck": 3,
        "abandoned": 3,
        "undecided": 0,
        "recovered": 3,
        "unexpected": 3,
        "early": 3,
        "redelivered": 6,  # after the lease, and after a lease that may have been shortened
        "concurrent": 6,  # in the lease, and in its extension
        "resurrected": 3,
        "zombie_ack": 3,
        "orphan": 3,
        "phantom": 3,  # the stuck one is listed without a payload
        "priority_inversion": 0,
        "dead_letter": 3,
        "not_due": 0,
        "late": 0,
        "unserved": 0,
        "overlap": 3,  # a program in zone b beside one in zone a that is never heard of again
    }
    assert figures_of(aggregates, "DC_ONE").counts["undecided"] > 0
    assert figures_of(aggregates, "DC_ONE").counts["early"] == 3  # of two runs; in one they may come so early


@pytest.mark.java
def test_latency_errors_and_lateness_equal_those_of_the_summary(
    aggregates: Aggregates, runs: list[Path], checked: dict[Path, tuple[Verdict, Summary]]
) -> None:
    summary = checked[runs[0]][1]
    mine = [row for row in aggregates.operations if row.setting == "DC_QUORUM"]
    assert {(row.f, row.zone) for row in mine} == {(o.f, o.zone) for o in summary.operations if o.zone != "all"}
    for row in mine:
        other = summary.operation(row.f, row.zone)
        assert other is not None
        assert {kind: getattr(row, kind) for kind in ("invoke", "ok", "fail", "info")} == other.counts
        assert row.errors == other.errors
        assert row.latency_ms == pytest.approx({name: other.service_ms[name] for name in row.latency_ms}, rel=ERROR_MAX)
        assert tuple(row.latency_ms) == (QUANTILES if row.ok else ())
        if row.delivery is not None:
            lateness_ms = summary.lateness_ms[row.zone]
            assert row.delivery.lateness_ms == pytest.approx(
                {name: lateness_ms[name] for name in QUANTILES}, rel=ERROR_MAX
            )
    assert any(row.errors for row in mine)


@pytest.mark.java
def test_spark_is_silent_and_leaves_nothing_behind(runs: list[Path], tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from zonelab.analysis.spark.pipeline import aggregate;"
        "print(len(aggregate([pathlib.Path(sys.argv[1])], master='local[1]').settings))"
    )
    (tmp_path / "cwd").mkdir()
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(runs[0])],
        cwd=tmp_path / "cwd",
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert list((tmp_path / "cwd").iterdir()) == []
    left = [path for path in (tmp_path / "tmp").iterdir() if path.name.startswith("zonelab")]
    assert left == []


@pytest.mark.java
def test_a_master_that_does_not_exist_is_one_line() -> None:
    with pytest.raises(SparkFailed, match=r"^[^\n]*Master must[^\n]*$"), spark_session(master="nonsense"):
        pass


@pytest.mark.java
def test_a_master_that_does_not_answer_is_one_line_at_once(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))  # nobody listens
        master = f"spark://127.0.0.1:{unheard.getsockname()[1]}"
        assert run_cli(["analyze", str(runs[0]), "--master", master]) == 3
        assert run_cli(["hunt", "steady", "--runs", "1", "--master", master, "--dir", str(runs[0].parent)]) == 3
    lines = capsys.readouterr().err.splitlines()
    why = f"{master.removeprefix('spark://')}: [Errno 111] Connection refused"
    told = f"zonelab: no Spark session on master {master!r}: {why}"
    assert [line for line in lines if line.startswith("zonelab: ")] == [told, told]


def test_without_java_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    run = eventful_run(tmp_path / "run").write()
    with pytest.raises(JavaMissing, match=r"^Spark needs Java 17 or newer.*no java command: install it[^\n]*$"):
        aggregate([run])
    refused = zonelab_here("analyze", str(run), cwd=tmp_path)
    assert len(refused.stderr.splitlines()) == 1, "no word of what Spark will do"


def test_a_java_that_is_too_old_is_named_with_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n", encoding="ascii")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    run = eventful_run(tmp_path / "run").write()
    with pytest.raises(JavaMissing, match=r'bin/java is "1\.8: install it'):
        aggregate([run])


@pytest.mark.java
def test_what_cannot_be_used_is_left_out_by_name(aggregates: Aggregates, unusable: list[Path]) -> None:
    assert [(place, left.kind) for place, left in aggregates.left_out.items()] == [
        (str(unusable[0]), "broken"),
        (str(unusable[1]), "no queue"),
    ]


def test_with_nothing_that_can_be_used_spark_does_not_start(
    monkeypatch: pytest.MonkeyPatch, unusable: list[Path], runs: list[Path]
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RunError, match=r"operations-0+1\.parquet: truncated.*; .*used no queue"):
        aggregate(unusable)
    with pytest.raises(RunError, match=r"operations-0+1\.parquet: truncated.* \(left out: 1 broken\)"):
        aggregate([*runs, *unusable], strict=True)
    with pytest.raises(NoRunFound, match="no run was found"):
        aggregate([])


def test_runs_that_differ_in_more_than_their_seed_are_apart(tmp_path: Path) -> None:
    def run(name: str, scenario: str = "queue: {engine: dyno}", **changes: object) -> RunDirectory:
        level, seed = str(changes.pop("level", "DC_ONE")), int(str(changes.pop("seed", 1)))
        path = eventful_run(tmp_path / name, level=level, seed=seed).write(**changes)
        (path / "scenario.yaml").write_text(scenario)
        return RunDirectory.open(path)

    alike = [run("one"), run("two", seed=2), run("three", level="DC_QUORUM")]
    assert grouped(alike) == (["DC_ONE", "DC_ONE", "DC_QUORUM"], {"DC_ONE": "", "DC_QUORUM": ""})
    unlike = [run("v2", "queue: {engine: dyno-v2}"), run("arm", arm="sim"), run("long", "faults: [{kind: kill}]")]
    edited = (
        run("edited", program="f00d", level="DC_SAFE_QUORUM"),
        run("before", program="cafe", level="DC_SAFE_QUORUM"),
    )
    assert grouped(edited)[0] == ["DC_SAFE_QUORUM #1", "DC_SAFE_QUORUM #2"]
    names, differs = grouped([*alike, *unlike, run("old", zonelab_version="0.0.9", seed=3)])
    assert names == ["DC_ONE #1", "DC_ONE #1", "DC_QUORUM", "DC_ONE #2", "DC_ONE #3", "DC_ONE #4", "DC_ONE #5"]
    assert differs["DC_ONE #2"] == "arm real, zonelab_version 0.1.0, queue.engine dyno-v2, faults null"
    assert differs["DC_ONE #4"] == "arm real, zonelab_version 0.1.0, queue.engine null, faults #2"
    assert differs["DC_ONE #5"] == "arm real, zonelab_version 0.0.9, queue.engine dyno, faults null"


def dying() -> None:
    with spark_session(master="local[1]", brief=True) as session:
        session.sparkContext._gateway.proc.kill()
        session.sql("SELECT 1").collect()


@pytest.mark.java
def test_java_that_dies_in_the_middle_is_one_line_and_another_may_begin() -> None:
    with pytest.raises(SparkFailed, match=r"^Java ended in the middle of the work: .+$"):
        dying()
    with spark_session(master="local[1]", brief=True) as session:
        assert session.sql("SELECT 1").count() == 1
