"""A V2 queue on the simulated server: by default, as the original, and in either mode."""

import pytest
from support.engine.dyno_v2 import PipelinedBench


@pytest.fixture
def make_bench():
    """What a test's queue is in; a module may have a class of its own."""
    return PipelinedBench


@pytest.fixture
def default(lab, make_bench):
    return make_bench(lab, compat=False)


@pytest.fixture
def original(lab, make_bench):
    return make_bench(lab, compat=True)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def bench(request, lab, make_bench):
    return make_bench(lab, compat=request.param)
