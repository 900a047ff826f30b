"""Where the engine's tests take place: one real server or one simulated; and V1 on the real one, in either mode."""

import pytest
from support.cluster.servers import started_lab
from support.cluster.sim_lab import simulated_lab
from support.engine.dyno_bench import Bench


@pytest.fixture(scope="session")
def server():
    with started_lab("a") as lab:
        yield lab


@pytest.fixture(scope="module")
def lab():
    with simulated_lab("a", lag="0") as lab:
        yield lab


@pytest.fixture
def make_bench():
    """What a test's queue is in; a module may have a class of its own."""
    return Bench


@pytest.fixture
def bench(server, make_bench):
    return make_bench(server)


@pytest.fixture
def original(server, make_bench):
    return make_bench(server, compat=True, poll_interval_ms=1)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def either(request, server, make_bench):
    return make_bench(server, compat=request.param, poll_interval_ms=1)
