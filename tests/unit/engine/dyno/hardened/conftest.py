"""Where the tests of hardened mode take place: three simulated zones."""

import pytest
from support.engine.hardened import hardened_lab


@pytest.fixture
def lab():
    with hardened_lab() as made:
        yield made
