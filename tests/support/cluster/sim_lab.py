"""Simulated zones for tests, with the face of ``support.cluster.servers.Lab``.

Time passes only while something runs.
"""

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from cluster.links.lag_text import parse_lag
from cluster.sim.cluster import SimCluster, SimSettings
from cluster.votes.levels import Level
from engine.ports import Connection, Runtime

T = TypeVar("T")


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


@contextmanager
def simulated_lab(*names: str, lag: str = "constant:1ms", seed: int = 1) -> Iterator[SimLab]:
    lab = SimLab(SimCluster(names, SimSettings(seed=seed, lag=parse_lag(lag))))
    lab.run(lab.cluster.start())
    try:
        yield lab
    finally:
        lab.run(lab.cluster.stop())
