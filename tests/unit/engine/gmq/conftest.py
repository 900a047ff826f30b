"""gmq on the simulated server, in either mode. Every test has a server of its own, whose time begins at 0."""

import pytest
from support.cluster.sim_lab import simulated_lab
from support.engine.gmq import GmqBench


@pytest.fixture
def lab():
    with simulated_lab("a", lag="0") as lab:
        yield lab


@pytest.fixture
def bench(lab):
    return GmqBench(lab)


@pytest.fixture
def original(lab):
    return GmqBench(lab, compat=True)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def either(request, lab):
    return GmqBench(lab, compat=request.param)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def compat(request):
    return request.param
