"""The queues of one program that share connections, settings and a sharding strategy.

Source: https://github.com/Netflix/dyno-queues, class ``RedisQueues``.
"""

from types import TracebackType
from typing import Self

from zonelab.engine.common.lifecycle import close_all
from zonelab.engine.common.timings import MetricsSource
from zonelab.engine.dyno.sharding import RoundRobin, ShardingStrategy
from zonelab.engine.dyno.v1.queue import DynoQueue
from zonelab.engine.dyno.v1.settings import DynoSettings
from zonelab.engine.ports import Clock, Connection, Runtime


class DynoQueues:
    """Registry that makes each queue at its first use, starts its handler, and closes all of them together.

    Shards are those of ``settings`` for good: a change of topology is not seen. All queues share ``strategy``, so with
    round robin the pushes of one queue move the turn of the others.
    """

    def __init__(
        self,
        *,
        runtime: Runtime,
        clock: Clock,
        quorum: Connection,
        local: Connection,
        settings: DynoSettings,
        strategy: ShardingStrategy | None = None,
        metrics: MetricsSource | None = None,
    ) -> None:
        self.settings = settings
        self.strategy = RoundRobin() if strategy is None else strategy
        self._runtime = runtime
        self._clock = clock
        self._quorum = quorum
        self._local = local
        self._metrics = metrics
        self._queues: dict[str, DynoQueue] = {}

    async def get(self, name: str) -> DynoQueue:
        """The queue ``name``: the same object every time, with its handler running."""
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = self._make(name)
            await queue.start()
        return queue

    def queues(self) -> list[DynoQueue]:
        """Return the queues used so far."""
        return list(self._queues.values())

    async def close(self) -> None:
        """Stop every handler. If one ended by a defect, that is raised after all are stopped."""
        queues, self._queues = self.queues(), {}
        await close_all(queues)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _make(self, name: str) -> DynoQueue:
        return DynoQueue(
            name,
            runtime=self._runtime,
            clock=self._clock,
            quorum=self._quorum,
            local=self._local,
            settings=self.settings,
            strategy=self.strategy,
            metrics=self._metrics,
        )
