"""Goal: the demo runs the same load at every level, tells the result in one table and in words, and needs no Java.

Method: the demo with a short scenario in place of its own; Spark with and without a Java to run on.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.scenarios.short_runs import run_short, scenario_file, table_rows, zonelab

from zonelab.app.cli.main import run_cli
from zonelab.app.verbs import demo
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC

CRASH = [{"kind": "kill", "zone": "b", "at_s": 0.5, "for_s": 1}]


@pytest.fixture
def short_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = scenario_file(tmp_path, faults=CRASH, persistence="aof-everysec")
    monkeypatch.setattr(demo, "SCENARIO", str(path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)


def intended(run: str) -> list[tuple[Any, ...]]:

    begin_ns = json.loads((Path(run) / "run.json").read_text())["phases"]["load"][0]
    return sorted(
        (row["message_id"], row["intended_ns"] - begin_ns)
        for row in table_rows(Path(run), "operations")
        if (row["f"], row["type"]) == ("push", "invoke")
    )


@pytest.mark.real
def test_the_demo_compares_every_level_under_one_load_and_does_without_java(
    short_demo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    without_java(monkeypatch)
    assert run_cli(["demo", "--seed", "3", "--json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert [run["level"] for run in answer["runs"]] == [level.value for level in LEVELS_OF_ONE_DC]
    assert {run["status"] for run in answer["runs"]} == {"complete"}
    plans = [intended(run["run"]) for run in answer["runs"]]
    assert plans[0] == plans[1] == plans[2]
    assert len(plans[0]) > 75
    assert all(Path(plot).stat().st_size > 1000 for plot in answer["plots"])
    assert "duplicates-and-losses.png" in {Path(plot).name for plot in answer["plots"]}
    told = [sentence for sentence in answer["conclusion"] if not sentence.startswith("Caution: ")]  # of a busy machine
    assert 2 <= len(told) <= 4
    assert answer["spark"]["settings"] is None
    assert "install" in answer["spark"]["problem"]
    assert answer["command"] == "zonelab demo --on process --seed 3"


@pytest.mark.real
@pytest.mark.java
def test_spark_agrees_with_the_checker_on_every_level(short_demo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["demo"]) == 0
    told = " ".join(capfd.readouterr().out.split())
    assert "agrees with the checker in every count" in told
    for word in (
        "DC_ONE",
        "DC_QUORUM",
        "DC_SAFE_QUORUM",
        "verdict",
        "side by side",
        "Repeat with: zonelab demo",
    ):
        assert word in told


@pytest.mark.real
def test_analyze_without_java_is_refused_with_one_line(tmp_path: Path) -> None:
    run = run_short(tmp_path, load={"duration_s": 1})
    run.check()
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = zonelab("analyze", str(run.directory), cwd=tmp_path, env={**environment, "PATH": "/nowhere"})
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Java 17" in done.stderr
