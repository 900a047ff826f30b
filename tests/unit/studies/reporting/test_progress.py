"""Goal: who starts many runs hears soon how long they will take. Method: a bar with a clock of the test."""

import pytest

from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.reporting.progress import Display, RunBar


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
