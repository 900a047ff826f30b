"""Each test has one simulated zone of its own: members go on working as long as time passes."""

import pytest
from support.cluster.sim_lab import simulated_lab

from zonelab.engine.fifo.modes import GroupMode


@pytest.fixture
def lab():
    with simulated_lab("a", lag="0") as lab:
        yield lab


@pytest.fixture(params=[str(each) for each in GroupMode if each is not GroupMode.FENCED])
def mode(request):
    return request.param
