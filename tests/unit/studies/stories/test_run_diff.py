"""Goal: two runs that differ are told apart at their first difference, by its cause; equal ones are not told apart.

Method: runs by hand that are alike but for one thing, pairs of simulated runs by the command line, and the nearest
valid run of one that a single fault makes invalid.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from support.app.commands import zonelab_here
from support.scenarios.short_runs import scenario_file

from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.app.cli.main import run_cli
from zonelab.studies.stories import run_diff
from zonelab.studies.stories.message_steps import StepKind
from zonelab.studies.stories.run_diff import ComparedRun, run_difference


def built(
    folder: Path, *, zone: str = "a", acked: bool = True, late_ms: float = 0, level: str = "DC_ONE"
) -> RunDirectory:
    builder = RunBuilder(folder, level=level)
    builder.push("m", at_ms=5)
    builder.push("n", at_ms=6)
    first = builder.pop("m", at_ms=20 + late_ms, zone=zone)
    builder.ack("n", builder.pop("n", at_ms=40 + late_ms), at_ms=60 + late_ms)
    if acked:
        builder.ack("m", first, at_ms=90 + late_ms, zone=zone)
    builder.fault("kill", "b", begin_ms=30, end_ms=5_000)
    return RunDirectory.open(builder.write())


def found(first: RunDirectory, second: RunDirectory) -> run_diff.RunDifference:
    return run_difference(ComparedRun.of(first), ComparedRun.of(second))


def test_runs_that_differ_in_their_times_alone_do_not_differ(tmp_path: Path):
    told = found(built(tmp_path / "one"), built(tmp_path / "two", late_ms=7, level="DC_QUORUM"))
    assert (told.message_id, told.differing, told.messages, told.alone) == (None, 0, 2, (0, 0))


@pytest.mark.parametrize(
    ("other", "kind", "words"),
    [
        ({"zone": "c"}, StepKind.DELIVERY, ("gets it in a", "gets it in c")),
        ({"acked": False}, StepKind.ACK, ("ack: done", "its lease ends")),
    ],
)
def test_the_first_unlike_step_is_named(other: dict[str, Any], kind: StepKind, words: tuple[str, str], tmp_path: Path):
    told = found(built(tmp_path / "one"), built(tmp_path / "two", **other))
    pair = told.pairs[told.at]
    assert (told.message_id, told.differing, told.kinds) == ("m", 1, {kind: 1})
    assert pair.first is not None
    assert pair.second is not None
    assert (pair.first.words, pair.second.words) == words
    assert all(before.same for before in told.pairs[: told.at])


def test_the_cause_is_a_fault_that_one_run_had_alone_or_else_the_first_setting_that_is_unlike(tmp_path: Path):
    calm = RunBuilder(tmp_path / "calm")
    calm.push("m", at_ms=5)
    calm.pop("m", at_ms=40, zone="c")
    told = found(built(tmp_path / "one"), RunDirectory.open(calm.write()))
    assert told.cause == "no fault was unlike before it, nor scenario, level, arm or seed"  # it began later
    calm.push("k", at_ms=5)
    told = found(built(tmp_path / "two", acked=False), built(tmp_path / "three", level="DC_QUORUM"))
    assert told.cause == "no fault was unlike before it; the level is: DC_ONE and DC_QUORUM"
    faulty = RunBuilder(tmp_path / "faulty")
    for run in (calm, faulty):
        run.push("o", at_ms=50)
        run.pop("o", at_ms=60, zone="a" if run is calm else "b")
    faulty.fault("cut", "b", begin_ms=55, end_ms=None)
    told = found(RunDirectory.open(calm.write()), RunDirectory.open(faulty.write()))
    assert told.cause == "cut b was in force in the second run alone"
    assert told.alone == (2, 0)


def test_a_run_on_real_servers_is_compared_without_votes_and_says_why(tmp_path: Path):
    told = found(built(tmp_path / "one"), built(tmp_path / "two"))
    assert not told.votes
    assert "on real servers" in told.first.unknown


SLOW = {"kind": "slow", "zone": "a", "factor": 2, "at_s": 0.1, "for_s": 0.1}
KILL = {"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.1}
CALM, KILLED = "runs/short/latest", "runs/killed/latest"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A valid run, and one like it with two faults, of which the second makes it invalid."""
    made = tmp_path_factory.mktemp("user")
    scenario_file(made, load={"duration_s": 0.6})
    assert zonelab_here("run", "short.yaml", "--on", "sim", cwd=made).returncode == 0
    (made / "killed.yaml").write_text((made / "short.yaml").read_text().replace("short", "killed"))
    faults = f"faults={json.dumps([SLOW, KILL])}"
    assert zonelab_here("run", "killed.yaml", "--on", "sim", "--set", faults, cwd=made).returncode == 1
    return made


def diff(folder: Path, *words: str) -> dict[str, Any]:
    done = zonelab_here("diff", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_simulated_runs_are_compared_with_their_votes(folder: Path):
    told = diff(folder, CALM, KILLED)
    assert told["votes"]
    assert "vote" in told["kinds"]
    first = told["steps"][told["first"]]
    assert (first["same"], [one["same"] for one in told["steps"][: told["first"]]]) == (False, [True] * told["first"])
    assert told["cause"] in (
        "slow a was in force in the second run alone",
        "kill b was in force in the second run alone",
    )


def test_a_run_does_not_differ_from_itself(folder: Path):
    told = diff(folder, CALM, CALM)
    assert (told["message"], told["differing"], told["votes"]) == (None, 0, True)


def test_the_terminal_shows_both_runs_in_80_columns(folder: Path):
    done = zonelab_here("diff", CALM, KILLED, cwd=folder, columns=80)
    lines = done.stdout.splitlines()
    assert any(line.startswith("First difference: ") for line in lines)
    assert any(" ≠ " in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_the_nearest_valid_run_leaves_out_the_fault_that_does_the_harm(folder: Path):
    told = diff(folder, KILLED, "--nearest")
    assert told["left_out"] == "fault 1: kill"
    assert told["cause"] == "kill b was in force in the first run alone"
    first = told["steps"][told["first"]]
    assert (first["first"] or first["second"])["at_s"] >= KILL["at_s"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["RUN"], "diff needs two runs, or one with --nearest"),
        (["RUN", "RUN", "--nearest"], "diff needs two runs, or one with --nearest"),
        (["RUN", "nowhere"], "nowhere: no such run directory"),
        (["RUN", "--nearest"], "--nearest: no run without one of the faults of "),
        (["REAL", "--nearest"], "--nearest: the run was on real servers, which keep no record"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    words: list[str], told: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    real = built(tmp_path / "real").path
    paths = {"RUN": str(folder / CALM), "REAL": str(real)}
    assert run_cli(["diff", *(paths.get(word, word) for word in words)]) == 64
    error = capsys.readouterr().err
    assert (told in error, error.count("\n")) == (True, 1), error
