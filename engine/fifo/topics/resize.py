"""Changing the number of a topic's partitions while producers and consumers go on."""

from dataclasses import replace

from zonelab.engine.fifo.events import NullObserver, Observer
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.log.record import DelayedRecord
from zonelab.engine.fifo.partition import Partition, partitions_of
from zonelab.engine.fifo.routing.selectors import selector
from zonelab.engine.fifo.topics.route import Predecessors, TopicRoute
from zonelab.engine.fifo.topics.routes import Routes
from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_MS


class ResizeRefused(Exception):
    """The resize did not begin, and changed nothing."""


class TopicResize:
    """The resize of one topic, by its administrator.

    ``to`` keeps the order of every key: the partitions are sealed, others are opened in their place, and a group begins
    with one of those only when it has finished all sealed ones that may hold its keys. ``numbers`` is RocketMQ's
    practice, two numbers that programs notice each at its own time: it keeps the order only if the first is
    doubled, and the second after every group has finished what was there before.
    """

    def __init__(
        self,
        routes: Routes,
        *,
        logs: PartitionLogs,
        runtime: Runtime,
        observer: Observer | None = None,
        poll_ms: int = 100,
    ) -> None:
        self._routes, self._logs, self._runtime, self._poll_ns = routes, logs, runtime, poll_ms * NS_PER_MS
        self._observer = observer or NullObserver()

    async def to(self, count: int, *, select: str) -> TopicRoute:
        """To ``count`` partitions, and wait until every group has finished the sealed ones.

        ``select``: the selector of the topic's producers. Goes on with one to the same ``count`` that was broken off,
        and does nothing if the topic has so many.
        Raises ``ResizeRefused`` during another one, ``ValueError``, and what the port raises.
        """
        selector(select, random=self._runtime.random("resize"))
        route = await self._known()
        if route.resizing not in (None, count):
            raise ResizeRefused(
                f"topic {route.topic} cannot be resized to {count} partitions: the resize to {route.resizing} is "
                f"under way, {await self._left(route)}"
            )
        if route.resizing is None and route.write == route.read == count:
            return route  # of an earlier try, whose last answer was lost
        if route.resizing is None:
            route = await self._routes.change(route, replace(route, sealing=self._checked(count)))
        if route.sealing is not None:
            route = await self._opened(route, select)
        while await self._unfinished(route):
            await self._runtime.sleep(self._poll_ns)
        return await self._routes.change(route, replace(route, drained=True))

    async def numbers(self, *, write: int | None = None, read: int | None = None) -> TopicRoute:
        """Change the number of partitions to which programs write, or which they read. Returns the new route.

        Raises the errors of ``to``.
        """
        route = await self._known()
        if route.resizing is not None:
            raise ResizeRefused(
                f"topic {route.topic} cannot get other numbers: the resize to {route.resizing} is under way, "
                f"{await self._left(route)}"
            )
        new = replace(route, epoch=route.epoch + 1, write=write or route.write, read=read or route.read)
        route = await self._routes.change(route, new)
        self._tell("opened", route)
        return route

    async def _opened(self, route: TopicRoute, select: str) -> TopicRoute:
        ends = []
        for partition in route.written:
            end = await self._logs.seal(partition)
            self._observer.note("resize", partition=partition.name, epoch=route.epoch, offset=end, status="sealed")
            ends.append(end)
        count, epoch = self._checked(route.sealing), route.epoch + 1
        await self._take_along(route, partitions_of(route.topic, count, route.zones, series=epoch), select)
        old = Predecessors(series=route.series, ends=tuple(ends), selector=select)
        new = replace(route, write=count, read=count, epoch=epoch, series=epoch, sealing=None, old=old, drained=False)
        route = await self._routes.change(route, new)
        self._tell("opened", route)
        return route

    async def _take_along(self, route: TopicRoute, new: list[Partition], select: str) -> None:
        """Move records that are not due yet, in their order, to the new partition of their key and into the
        new epoch.
        """
        choose = selector(select, random=self._runtime.random("resize"))
        for partition in route.written:
            by_new: dict[Partition, list[DelayedRecord]] = {}
            for delayed in await self._logs.delayed(partition):
                moved = replace(delayed, record=replace(delayed.record, epoch=route.epoch + 1))
                by_new.setdefault(new[choose(delayed.record.key, len(new))], []).append(moved)
            for where, records in by_new.items():
                await self._logs.delay_there(where, records)
            await self._logs.forget_delayed(partition)

    def _tell(self, status: str, route: TopicRoute) -> None:
        for partition in route.written:
            self._observer.note("resize", partition=partition.name, epoch=route.epoch, status=status)

    async def _unfinished(self, route: TopicRoute) -> list[str]:
        """Return the groups that have not finished the sealed partitions, with what is left."""
        left = []
        if route.old is not None:
            for partition, end in zip(route.sealed, route.old.ends, strict=True):
                for group, cursor in sorted((await self._logs.groups(partition)).items()):
                    if cursor < end:
                        left.append(f"group {group} is at {cursor} of {end} in {partition.name}")
        return left

    async def _left(self, route: TopicRoute) -> str:
        if route.sealing is not None:
            return "its partitions are being sealed"
        left = await self._unfinished(route)
        return left[0] if left else "and about to end"

    async def _known(self) -> TopicRoute:
        route = await self._routes.read()
        if route is None:
            raise ResizeRefused("the topic was not created")
        return route

    @staticmethod
    def _checked(count: int | None) -> int:
        if count is None or count < 1:
            raise ValueError(f"partitions must be at least 1, got {count}")
        return count
