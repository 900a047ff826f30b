"""A V1 queue on the simulated server: by default, as the original, and in either mode."""

import pytest
from support.engine.dyno_bench import DynoBench


@pytest.fixture
def bench(lab):
    return DynoBench(lab)


@pytest.fixture
def original(lab):
    return DynoBench(lab, compat=True, poll_interval_ms=1)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def either(request, lab):
    return DynoBench(lab, compat=request.param, poll_interval_ms=1)
