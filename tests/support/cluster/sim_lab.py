"""Simulated zones for tests: with the face of ``support.cluster.servers.Lab``, or for tests that are coroutines.

Time passes only while something runs.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from support.coroutines import given

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.options.strict.door import REFUSED
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import NetworkSettings, ReplicationOptions
from zonelab.engine.ports import Connection, Runtime

T = TypeVar("T")
Network = TypeVar("Network", bound=NetworkSettings)


class SimLab:
    """A started cluster of simulated zones."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster

    @property
    def runtime(self) -> Runtime:
        return self.cluster.runtime

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.cluster.runtime.run_until_complete(coroutine)

    def direct(self, zone: str) -> Connection:
        """Past the coordinators."""
        return self.cluster.direct(zone)

    def connection(self, zone: str, level: Level) -> Connection:
        return self.cluster.connection(zone, level)

    @property
    def refused(self) -> int:
        """So many commands were refused, or their replies withheld, by strict mode."""
        return sum(each.statistics.options.get(REFUSED, 0) for each in self.cluster.coordinators.values())


def settings_of(kind: type[Network], *, seed: int = 1, **settings: Any) -> Network:
    """Return settings with those of ``ReplicationOptions`` among ``settings`` in their place."""
    options = {name: settings.pop(name) for name in ReplicationOptions.model_fields.keys() & settings.keys()}
    return kind(seed=seed, replication=ReplicationOptions(**options), **settings)


@contextmanager
def simulated_lab(*names: str, lag: str = "constant:1ms", seed: int = 1, strict: bool = False) -> Iterator[SimLab]:
    lab = SimLab(SimCluster(names, settings_of(SimSettings, seed=seed, lag=parse_lag(lag), strict=strict)))
    lab.run(lab.cluster.start())
    try:
        yield lab
    finally:
        lab.run(lab.cluster.stop())


def simulated(zones: str = "abc", **settings: Any) -> Callable[[Callable[..., Awaitable[T]]], Callable[..., T]]:
    """A decorator for a coroutine, usually a test: it is run in a started cluster, which it gets as ``cluster``.

    ``settings``: as for ``settings_of``. With a topology the zones are its nodes.

    Example::

        @simulated(lag=Constant(1))
        async def test_a_write_is_read_back(cluster): ...
    """

    def carry_out(test: Callable[[SimCluster], Coroutine[Any, Any, T]]) -> T:
        topology = settings.get("topology")
        cluster = SimCluster(topology.nodes if topology else tuple(zones), settings_of(SimSettings, **settings))

        async def whole() -> T:
            async with cluster:
                return await test(cluster)

        return cluster.runtime.run_until_complete(whole())

    return given("cluster", carry_out)
