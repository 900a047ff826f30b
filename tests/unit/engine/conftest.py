"""One real server for the engine's tests that need one."""

import pytest
from support.servers import started_lab


@pytest.fixture(scope="session")
def server():
    with started_lab("a") as lab:
        yield lab
