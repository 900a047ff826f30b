"""On real servers a queue ends in its windows as it does in simulation, and as its page says.

Method: the courses of ``tests/support/windows`` that need no time to pass, on three server processes, in both modes.
Clocks are set instead of waiting, each command is over in every zone before the next is sent, and what a dispatcher
writes is waited for.
"""

import pytest
from support.cluster.servers import started_lab
from support.windows.page import DYNO, GMQ, MODES, YOUZAN
from support.windows.real_queues import PLAYED, STAGES

pytestmark = pytest.mark.real

ROWS = {"dyno": DYNO.rows(), "gmq": GMQ.rows(), "youzan": YOUZAN.rows()}


@pytest.fixture(scope="module")
def lab():
    with started_lab("a", "b", "c", time_factor=0.1) as lab:
        yield lab


@pytest.mark.parametrize(
    ("queue", "mode", "window"), [(*of, window) for of, windows in PLAYED.items() for window in windows]
)
def test_a_window_ends_as_in_simulation(lab, queue, mode, window):
    stage = STAGES[queue](compat=MODES[mode], cluster=lab.cluster)
    assert lab.run(stage.play_named(window)) == ROWS[queue][window][mode]
