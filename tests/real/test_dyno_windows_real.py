"""On real servers the windows of dyno-queues end as they do in simulation, and as docs/dyno-windows.md says.

Method: the courses of ``tests/support/windows`` that need no time to pass, on three server processes, in both modes.
Clocks are set instead of waiting, and each command is over in every zone before the next is sent.
"""

import re
from pathlib import Path

import pytest
from support.servers import started_lab
from support.windows.real import COURSES, RealStage
from support.windows.stage import make_v1

pytestmark = pytest.mark.real

PAGE = Path(__file__).parents[2] / "docs" / "dyno-windows.md"
MODES = {"original": make_v1(compat=True), "default": make_v1(compat=False)}


@pytest.fixture(scope="module")
def lab():
    with started_lab("a", "b", "c", time_factor=0.1) as lab:
        yield lab


def page(window, mode):
    (row,) = re.findall(rf"^\| `{window}` \|(.*)\|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    _, _, original, default, _ = [cell.strip() for cell in row.split("|")]
    return original if mode == "original" or default == "the same" else default


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("window", COURSES)
def test_a_window_ends_as_in_simulation(lab, window, mode):
    stage = RealStage(MODES[mode], cluster=lab.cluster)
    assert lab.run(stage.play_here(COURSES[window])) == page(window, mode)
