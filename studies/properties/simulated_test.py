"""``sim_test``: a coroutine as a test, run on a fresh simulated cluster for each of many seeds."""

import inspect
import os
import shlex
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from inspect import Parameter
from typing import Any, ParamSpec, Protocol, cast

import pytest

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.schedule import Schedule
from zonelab.cluster.sim.server import ServerSettings
from zonelab.studies.properties.plugin import REPLAY, SEEDS
from zonelab.studies.properties.shutdown import abandon, close

TESTBED = "testbed"

P = ParamSpec("P")


class Decorator(Protocol):
    """Makes a test of a coroutine function; its parameters stay, to be given by pytest, but for ``testbed``."""

    def __call__(self, body: Callable[P, Coroutine[Any, Any, None]], /) -> Callable[P, None]: ...


def sim_test(
    *,
    seeds: int = 20,
    zones: Sequence[str] = ("a", "b", "c"),
    lag: str = "0",
    server: ServerSettings = ServerSettings(),  # noqa: B008
    schedule: Schedule = Schedule(),  # noqa: B008
    timeouts: Timeouts = Timeouts(),  # noqa: B008
) -> Decorator:
    """Run ``async def test(testbed, …)`` for the seeds 0, 1, … on a cluster that has started; it is stopped afterwards.

    ``testbed`` is a ``zonelab.testing.SimCluster``; the other parameters are fixtures, made once for all seeds. The
    first seed that fails ends the test, with the command that runs that seed alone.

    Args:
        seeds: number of seeds; ``--zonelab-seeds`` overrides it.
        zones: their names.
        lag: of links between zones, a distribution such as ``lognormal:2ms:15ms`` (docs/scenarios.md).
        server: how fast the simulated servers are, and what they keep.
        schedule: order of events that are due at the same time.
        timeouts: of coordinators and their connections.

    Returns:
        A decorator for the function, of which it makes a test that pytest calls.

    Raises:
        ValueError: for an unknown lag or no seed.
        TypeError: for a function that is not ``async`` or has no parameter ``testbed``.

    Example::

        @sim_test(seeds=3, lag="lognormal:2ms:15ms")
        async def test_a_value_is_read_where_it_was_written(testbed: SimCluster) -> None:
            connection = testbed.connection("a", Level.DC_ONE)
            assert await connection.execute(("SET", "k", "v"), ("GET", "k")) == [b"OK", b"v"]
    """
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more, got {seeds}")
    links = parse_lag(lag)

    def cluster_of(seed: int) -> SimCluster:
        settings = SimSettings(seed=seed, lag=links, server=server, schedule=schedule, timeouts=timeouts)
        return SimCluster(zones, settings)

    def decorate(body: Callable[P, Coroutine[Any, Any, None]], /) -> Callable[P, None]:
        parameters = inspect.signature(body).parameters
        if not inspect.iscoroutinefunction(body) or TESTBED not in parameters:
            raise TypeError(f"sim_test needs `async def` with a parameter `{TESTBED}`, got {body!r}")

        called: Callable[..., Coroutine[Any, Any, None]] = body

        @wraps(called)
        def test(*args: Any, request: pytest.FixtureRequest, **fixtures: Any) -> None:
            if "request" in parameters:
                fixtures["request"] = request
            for seed in _seeds(request.config, seeds):
                _run(cluster_of(seed), lambda cluster: called(*args, **{TESTBED: cluster}, **fixtures), seed, request)

        kept = [parameter for name, parameter in parameters.items() if name not in (TESTBED, "request")]
        request = Parameter("request", Parameter.KEYWORD_ONLY)
        test.__signature__ = inspect.Signature([*kept, request])  # type: ignore[attr-defined]
        return cast(Callable[P, None], test)

    return decorate


def _seeds(config: pytest.Config, seeds: int) -> Sequence[int]:
    replay = config.getoption(REPLAY, default=None)
    return range(config.getoption(SEEDS, default=None) or seeds) if replay is None else (replay,)


def _run(
    cluster: SimCluster,
    body: Callable[[SimCluster], Coroutine[Any, Any, None]],
    seed: int,
    request: pytest.FixtureRequest,
) -> None:
    runtime = cluster.runtime
    runtime.run_until_complete(cluster.start())
    try:
        runtime.run_until_complete(body(cluster))
    except Exception as error:
        when = f"seed {seed} failed at {runtime.now_ns() / 1e9:.6f} s of virtual time"
        error.add_note(f"zonelab: {when}; again: pytest {shlex.quote(_address(request))} --zonelab-replay {seed}")
        abandon(cluster)
        raise
    except BaseException:
        abandon(cluster)
        raise
    close(cluster)


def _address(request: pytest.FixtureRequest) -> str:
    """The test as pytest takes it where it was called; its node id begins at pytest's root directory."""
    names = request.node.nodeid.partition("::")[2]
    return f"{os.path.relpath(request.node.path, request.config.invocation_params.dir)}::{names}"
