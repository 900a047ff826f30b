"""Goal: who starts many runs hears soon how long they will take. Method: a bar with a clock of the test."""

import pytest

from scenarios.terminal.progress import RunBar


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
