"""The pytest plugin: options of ``sim_test``, and the fixture ``zonelab_cluster``; imports nothing of the
simulation.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

SEEDS = "zonelab_seeds"
REPLAY = "zonelab_replay"
ON = "zonelab_on"
ARMS = ("sim", "process", "docker")
MARK = "zonelab_cluster"


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
    group.addoption("--zonelab-on", dest=ON, choices=ARMS, help="have every zonelab_cluster simulated, or on servers")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(on, **options): what the fixture {MARK} is made of")


@pytest.fixture(name=MARK)
def _cluster(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A cluster of three zones, or what the mark ``zonelab_cluster`` asks ``zonelab.testing.cluster`` for."""
    cluster = import_module("zonelab.testing").cluster
    mark = request.node.get_closest_marker(MARK)
    options = {} if mark is None else dict(zip(("on",), mark.args, strict=False)) | mark.kwargs
    chosen = request.config.getoption(ON, default=None)
    with cluster(**(options if chosen is None else {**options, "on": chosen})) as made:
        yield made
