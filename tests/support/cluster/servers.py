"""Real servers for tests: zones that start together, a cluster on them, and one event loop to run coroutines in."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import uvloop

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import Connection, Runtime

T = TypeVar("T")


class Lab:
    """A started cluster and the event loop that it lives in."""

    def __init__(self, runner: asyncio.Runner, cluster: RealCluster) -> None:
        self._runner = runner
        self.cluster = cluster

    @property
    def runtime(self) -> Runtime:
        return self.cluster.runtime

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(coroutine)

    def direct(self, zone: str) -> Connection:
        """Past the coordinators."""
        return self.cluster.direct(zone)

    def connection(self, zone: str, level: Level) -> Connection:
        return self.cluster.connection(zone, level)


@contextmanager
def started_lab(*names: str, time_factor: float = 1.0) -> Iterator[Lab]:
    """``time_factor`` scales Dynomite's time-outs."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        cluster = runner.run(_started(names, time_factor))
        try:
            yield Lab(runner, cluster)
        finally:
            runner.run(cluster.stop())


async def _started(names: tuple[str, ...], time_factor: float) -> RealCluster:
    cluster = RealCluster(zones("process", names), RealSettings(seed=1, timeouts=Timeouts(factor=time_factor)))
    await cluster.start()
    return cluster
