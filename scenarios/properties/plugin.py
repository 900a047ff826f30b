"""The pytest plugin: options of ``zonelab.scenarios.properties.simulated_test``. Imports nothing of the simulation."""

import pytest

SEEDS = "zonelab_seeds"
REPLAY = "zonelab_replay"


def _count(text: str) -> int:
    return _whole(text, least=1)


def _seed(text: str) -> int:
    return _whole(text, least=0)


def _whole(text: str, *, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise pytest.UsageError(f"got {text!r}; accepted: a whole number from {least} on")
    return int(text)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("zonelab", "zonelab: tests in simulated time")
    group.addoption("--zonelab-seeds", dest=SEEDS, type=_count, metavar="N", help="run every sim_test with N seeds")
    group.addoption(
        "--zonelab-replay", dest=REPLAY, type=_seed, metavar="SEED", help="run sim_tests with this seed only"
    )
