"""On real servers the windows of dyno-queues end as they do in simulation, and as docs/dyno-windows.md says.

Method: the courses of ``tests/support/windows`` that need no time to pass, on three server processes, in both modes.
Clocks are set instead of waiting, and each command is over in every zone before the next is sent.
"""

import pytest
from support.cluster.servers import started_lab
from support.windows.page import DYNO, MODES
from support.windows.real import COURSES, RealStage

pytestmark = pytest.mark.real

ROWS = DYNO.rows()


@pytest.fixture(scope="module")
def lab():
    with started_lab("a", "b", "c", time_factor=0.1) as lab:
        yield lab


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("window", COURSES)
def test_a_window_ends_as_in_simulation(lab, window, mode):
    stage = RealStage(compat=MODES[mode], cluster=lab.cluster)
    assert lab.run(stage.play_here(COURSES[window])) == ROWS[window][mode]
