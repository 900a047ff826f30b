"""A Youzan queue on the simulated server: as the article designs it, as ouqiang v0.4, and in either mode."""

import pytest
from support.engine.youzan import YouzanBench


@pytest.fixture
def bench(lab):
    return YouzanBench(lab)


@pytest.fixture
def original(lab):
    return YouzanBench(lab, compat=True)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def either(request, lab):
    return YouzanBench(lab, compat=request.param)
