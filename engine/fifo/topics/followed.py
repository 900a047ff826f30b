"""A topic's route as one program knows it: others may know another one at the same time."""

from contextlib import suppress

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.topics.route import TopicRoute
from zonelab.engine.fifo.topics.routes import Routes
from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_MS


class FollowedRoute:
    """``known`` is where it begins. It is asked for again every ``refresh_ms``: 30 s in RocketMQ."""

    def __init__(
        self, known: TopicRoute, *, routes: Routes, logs: PartitionLogs, runtime: Runtime, refresh_ms: int
    ) -> None:
        if refresh_ms < 1:
            raise ValueError(f"refresh_ms must be at least 1, got {refresh_ms}")
        self.known = known
        self._routes, self._logs, self._runtime = routes, logs, runtime
        self._refresh_ns = refresh_ms * NS_PER_MS
        self._read_ns = runtime.now_ns()

    async def current(self) -> TopicRoute:
        """Return the route as known at most ``refresh_ms`` ago. If no zone answers it stays as it is."""
        if self._runtime.now_ns() - self._read_ns >= self._refresh_ns:
            with suppress(*COMMAND_FAILURES):
                await self.refresh()
        return self.known

    async def refresh(self) -> bool:
        """Read the route now. Returns True if it has changed. Raises what the port raises."""
        self._read_ns = self._runtime.now_ns()
        before, read = self.known, await self._routes.read()
        if read is not None and read.epoch >= before.epoch:  # a zone that lags may return an earlier one
            self.known = read
        return self.known != before

    async def passed(self, partition: Partition, group: str) -> bool:
        """``group`` may begin with ``partition``: it has finished all that may hold earlier messages of its keys."""
        for old, end in self.known.in_front_of(partition):
            progress = await self._logs.progress(old, group)
            if (0 if progress is None else progress.cursor) < end:
                return False
        return True
