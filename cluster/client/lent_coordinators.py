"""Coordinators with connections of their own, lent to clients that watch keys."""

from collections.abc import Callable
from functools import partial

from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_MS, NS_PER_S

CONNECT_NS = 2 * NS_PER_S
"""Time that new connections have before their client begins; a zone that is not there then has its chance later."""
WATCHERS_MAX = 1_000
"""Clients that may watch keys at a time, each with connections of its own to every zone."""
IDLE_MAX = 16
"""Coordinators whose clients have left that are kept for the next ones."""


async def connected(coordinator: Coordinator, runtime: Runtime) -> None:
    """Wait until ``coordinator`` is connected to every zone, or for ``CONNECT_NS``."""
    deadline_ns = runtime.now_ns() + CONNECT_NS
    while not coordinator.connected and runtime.now_ns() < deadline_ns:
        await runtime.sleep(NS_PER_MS)


class LentCoordinators:
    """Coordinators to ``zones`` of the clients of one zone: ``make`` makes one, ``drop`` closes one of its ways.

    ``unwatch`` is the batch after which connections have forgotten what was watched.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        make: Callable[[tuple[str, ...]], Coordinator],
        drop: Callable[[Channel], None],
        unwatch: Callable[[], Batch],
    ) -> None:
        self._runtime = runtime
        self._make = make
        self._drop = drop
        self._unwatch = unwatch
        self._idle: dict[frozenset[str], list[Coordinator]] = {}
        self._lent = 0

    async def lease(self, zones: tuple[str, ...]) -> Coordinator:
        """Lend a coordinator with connections to ``zones``. Raises ``ClusterError`` if too many have one."""
        if self._lent >= WATCHERS_MAX:
            raise ClusterError(f"{self._lent} clients watch keys at this port; no more can")
        self._lent += 1
        idle = self._idle.setdefault(frozenset(zones), [])
        if idle:
            return idle.pop()
        coordinator = self._make(zones)
        try:
            await connected(coordinator, self._runtime)
        except BaseException:  # the client has left
            self.release(coordinator)
            raise
        return coordinator

    def release(self, coordinator: Coordinator) -> None:
        """Take ``coordinator`` back: its connections forget what was watched, and serve the next client.

        Beyond ``IDLE_MAX`` they are closed. A zone may still be about to get a transaction that others have answered,
        so first all of them answer this.
        """
        self._lent -= 1
        idle = self._idle[frozenset(coordinator.zones)]
        kept = len(idle) < IDLE_MAX
        if kept:
            idle.append(coordinator)
        batch = self._unwatch()
        for channel in coordinator.channels:
            channel.submit(batch, (lambda _: None) if kept else partial(self._drop_later, channel))

    def _drop_later(self, channel: Channel, answer: Answer) -> None:
        """Close ``channel``, whose last answer is there, once it has been taken in."""
        self._runtime.call_later(0, partial(self._drop, channel))
