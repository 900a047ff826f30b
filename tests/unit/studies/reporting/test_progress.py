"""Goal: who starts many runs hears soon how long they will take. Method: a bar with a clock of the test."""

import re
import time

import pytest
from support.programs import HANGS_S

from zonelab.scenarios.spec.reading import load_scenario, scenario_of
from zonelab.studies.reporting import progress
from zonelab.studies.reporting.progress import Display, RunBar, Work


@pytest.mark.parametrize(("each_s", "said"), [(0.5, ["steady: 89 more runs x 0.5 s, about 44 s"]), (0.01, [])])
def test_a_bar_says_after_the_first_runs_how_long_the_rest_takes(
    each_s: float, said: list[str], capsys: pytest.CaptureFixture[str]
):
    """The first run, in which workers start, took much longer than the others."""
    now_s = 0.0
    with RunBar("steady", total=100, done=8, now_s=lambda: now_s) as bar:
        for done in (9, 10, 11):
            now_s = 30 + (done - 9) * each_s
            bar.show(done, 100)
    assert [line for line in capsys.readouterr().err.splitlines() if "more runs" in line] == said


def test_where_there_is_no_terminal_lines_say_how_much_time_is_left(capsys: pytest.CaptureFixture[str]):
    now_s = 0.0
    with RunBar("steady", total=40, now_s=lambda: now_s) as bar:
        for done in range(1, 41):
            now_s = float(done)
            bar.show(done, 40)
    counts = [line for line in capsys.readouterr().err.splitlines() if " of " in line]
    assert counts[4] == "steady: 20 of 40 runs, about 20 s left"
    assert counts[-1] == "steady: 40 of 40 runs"


def test_runs_for_which_there_is_no_room_are_not_counted_as_time_that_is_left(capsys: pytest.CaptureFixture[str]):
    now_s = 0.0
    with RunBar("ablations", most_s=100, now_s=lambda: now_s) as bar:
        for done in (2, 4):
            now_s = 15.0 * done
            bar.show(done, 40)
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "ablations: 36 more runs x 15 s do not fit into the 40 s that are left",
        "ablations: 4 of 40 runs, about 40 s left",
    ]


@pytest.mark.parametrize(
    ("scenarios", "said"),
    [
        ([{"arm": "real"}], "steady: 1 run x 10 s of load, and at most 15 s to drain: 10 to 25 s\n"),
        (
            [{"load.duration_s": 6, "arm": "real"}, {"load.duration_s": 20, "drain.bound_s": 9, "arm": "real"}],
            "steady: 2 runs x 6 to 20 s of load, and at most 9 to 15 s to drain: 26 to 50 s\n",
        ),
        ([{"arm": "sim"}] * 3, "steady: 3 runs x 10 s of load, and at most 15 s to drain, simulated\n"),
        ([{"load.duration_s": 4, "arm": "real"}] * 2, ""),
    ],
)
def test_what_will_be_run_is_said_beforehand_from_the_phases_of_the_scenarios(
    scenarios: list[dict[str, object]], said: str, capsys: pytest.CaptureFixture[str]
):
    changes = [{"load.duration_s": 10, "drain.bound_s": 15, **one} for one in scenarios]
    loaded = [load_scenario("steady", overrides=[f"{path}={value}" for path, value in one.items()]) for one in changes]
    with Display() as shown:
        shown.announce("steady", loaded)
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("ends", "why"), [(False, ", as no program of it ends by itself"), (True, "")])
def test_a_load_that_no_program_ends_is_said_to_take_its_whole_time(
    ends: bool, why: str, capsys: pytest.CaptureFixture[str]
):
    programs = {"worker": {"command": "work {url}"}, "other": {"command": "work {url}", "ends": ends}}
    document = {"name": "own", "load": {"duration_s": 60}, "drain": {"bound_s": 30}, "programs": programs}
    with Display() as shown:
        shown.announce("run", [scenario_of(document, source="own", overrides=())])
    assert capsys.readouterr().err == f"run: 1 run x 60 s of load{why}, and at most 30 s to drain: 60 to 90 s\n"


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let silence be broken soon."""
    monkeypatch.setattr(progress, "SILENT_S", 0.02)


def heard(capsys: pytest.CaptureFixture[str], pattern: str) -> bool:
    """Wait for a line on stderr."""
    deadline_s = time.monotonic() + HANGS_S
    while time.monotonic() < deadline_s:
        if any(re.fullmatch(pattern, line) for line in capsys.readouterr().err.splitlines()):
            return True
        time.sleep(0.03)
    return False


def test_work_that_takes_long_says_now_and_then_that_it_goes_on(soon: None, capsys: pytest.CaptureFixture[str]):
    with Work("check") as shown:
        assert heard(capsys, r"check: begins, for \d+ s so far")
        shown.phase("load", 100)
        shown.progress(25, {})
        assert heard(capsys, r"check: load 25%, about \d+ s left")
        shown.phase("heal", None)
        assert heard(capsys, r"check: heal, for \d+ s so far")


def test_work_in_parts_says_of_each_how_far_it_is(soon: None, capsys: pytest.CaptureFixture[str]):
    with Work("check") as shown:
        shown.stage("history", 50_000, 200_000)
        assert heard(capsys, r"check: history 25%, about \d+ s left")
        shown.stage("messages", 1, 2)
        assert heard(capsys, r"check: messages 50%, about \d+ s left")


def test_a_run_says_so_too_with_what_it_has_counted(soon: None, capsys: pytest.CaptureFixture[str]):
    with Display() as shown:
        shown.begin("steady DC_ONE")
        shown.phase("load", 100)
        shown.progress(50, {("push", "ok"): 1_234})
        assert heard(capsys, r"steady DC_ONE: load 50%, about \d+ s left; pushes ok 1,234  delivered 0  acks ok 0")
        shown.phase("plots", None)
        assert heard(capsys, r"steady DC_ONE: plots, for \d+ s so far; pushes ok 1,234.*")
        shown.stage("figures", 1, 4)
        assert heard(capsys, r"steady DC_ONE: figures 25%, about \d+ s left; pushes ok 1,234.*")


def test_many_runs_of_which_none_has_ended_say_so(soon: None, capsys: pytest.CaptureFixture[str]):
    with RunBar("steady", total=40) as bar:
        bar.show(3, 40)
        assert heard(capsys, r"steady: 3 of 40 runs")


def test_work_that_is_short_says_nothing(capsys: pytest.CaptureFixture[str]):
    with Work("check") as shown:
        shown.phase("load", 100)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_bar_has_the_share_of_a_phase_that_has_a_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with Work("lens") as shown:
        shown.phase("load", 100)
        shown.progress(25, {})
    assert "25%" in capsys.readouterr().err
    with Work("lens") as shown:
        shown.phase("heal", None)
    told = capsys.readouterr().err
    assert ("heal" in told, "%" in told) == (True, False)
