"""Where the engine's tests take place: one simulated server without lag."""

import pytest
from support.cluster.sim_lab import simulated_lab


@pytest.fixture(scope="module")
def lab():
    with simulated_lab("a", lag="0") as lab:
        yield lab
