"""One member of a consumer group: a program that consumes in order."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.fifo.assignment.strategies import strategy
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.pull import Pulls
from zonelab.engine.fifo.consumer.rebalance import Rebalance
from zonelab.engine.fifo.fenced.member.parts import parts_of
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import Release
from zonelab.engine.fifo.topics.followed import FollowedRoute
from zonelab.engine.ports import Task
from zonelab.engine.units import NS_PER_MS


class Member(Startable):
    """Consumes its share of ``partitions`` from ``start`` to ``close`` or ``kill``.

    ``room_of``: the zone of a member, by its name. ``route``: it goes by what this knows, instead of ``partitions``.
    """

    def __init__(
        self,
        context: MemberContext,
        *,
        partitions: Sequence[Partition],
        room_of: Callable[[str], str],
        route: FollowedRoute | None = None,
    ) -> None:
        self._context, self._topics, self._route = context, _topics(partitions), route
        parts = parts_of(context, lost=self._wake)
        self._ownership, self._offsets, self._revoke, self._parts = parts.ownership, parts.offsets, parts.revoke, parts
        self.statistics = parts.loop.watchers.statistics
        self._rebalance = Rebalance(
            context,
            partitions=partitions,
            route=route,
            strategy=strategy(context.settings.assignment, room_of=room_of),
            ownership=parts.ownership,
            offsets=parts.offsets,
            pulls=Pulls(context, parts.offsets, parts.loop, parts.results, self._wake),
            revoke=parts.revoke,
        )
        self._scheduled: list[Task[None]] = []
        self._last: list[Task[None]] = []
        self._changes: int | None = None

    async def start(self) -> None:
        """Join the group. What fails is tried again, at its next time."""
        context, times = self._context, self._context.times_ms
        self._note("joined")
        self._scheduled = [
            self._every(times.renew, times.renew_first, self._ownership.renew_all, "renewal"),
            self._every(times.flush, times.flush_first, self._offsets.flush, "flush"),
        ]
        self._last = [
            self._every(times.heartbeat, 0, self._beat, "heartbeat"),
            self._every(times.notice, times.notice, self._look, "notice"),
            self._every(times.member_scan, times.member_scan, self._trim, "trim"),
            context.spawn(self._rebalance.run(), "rebalance"),
        ]
        self._rebalancing = self._last[-1]
        if self._route is not None:
            self._last.append(self._every(times.route, times.route, self._look_at_route, "route"))
        if self._parts.look_after is not None:
            self._scheduled.append(self._every(times.renew, times.renew, self._parts.look_after, "upkeep"))
        if context.settings.rules.renews_twice:
            renewal = self._every(times.renew, times.renew_first, self._ownership.renew_all, "second renewal")
            self._last.append(renewal)

    async def close(self) -> None:
        """Stop in RocketMQ's order: unlock, send how far it is, one way, and leave. It waits for no listener.

        Where partitions are drained it waits for listeners, for a while, and unlocks what they have left.
        """
        context = self._context
        heartbeat, *others = self._last
        if context.settings.rules.release is Release.DRAINED:
            await self._drain()
        for task in self._scheduled:
            task.cancel()
        self._parts.loop.stopping = True
        await self._ownership.release_all()
        for queue in context.queues.values():
            queue.locked = False
        await self._offsets.flush()
        if context.times_ms.leave:
            drawn = context.runtime.random(f"{context.session}: leave")
            await context.runtime.sleep(round(drawn.uniform(0, context.times_ms.leave) * NS_PER_MS))
        heartbeat.cancel()
        with suppress(*COMMAND_FAILURES):  # it is removed when it was silent for long enough
            await context.zones.members.leave(context.name)
        for queue in context.queues.values():
            queue.dropped = True
        context.queues.clear()
        for task in others:
            task.cancel()
        self._note("left")

    async def _drain(self) -> None:
        """Begin nothing any more, and give up each partition when its listener has ended and its result is stored.

        What does not end in time is not given up: its lease ends by itself.
        """
        context = self._context
        self._rebalancing.cancel()
        queues = list(context.queues.values())
        for queue in queues:
            queue.dropped = True
        tasks = [self._context.runtime.spawn(self._revoke.of(queue), name="drain") for queue in queues]
        for queue, task in zip(queues, tasks, strict=True):
            await task.join()
            context.queues.pop(queue.partition, None)

    def _wake(self) -> None:
        self._rebalance.wake()

    @property
    def owned(self) -> list[Partition]:
        """The partitions that it may hand out, as far as it knows."""
        return [partition for partition, queue in self._context.queues.items() if self._ownership.believes(queue)]

    def kill(self) -> None:
        """Stop at once, as a program that is killed: nothing more is sent. ``Members.leave`` is for who notices it."""
        for task in self._context.tasks:
            task.cancel()
        self._context.tasks.clear()

    def _every(self, interval_ms: int, first_ms: int, action: Callable[[], Awaitable[object]], what: str) -> Task[None]:
        async def repeat() -> None:
            await self._context.sleep(first_ms)
            while True:
                with suppress(*COMMAND_FAILURES):  # what failed is due again after the interval
                    await action()
                await self._context.sleep(interval_ms)

        return self._context.spawn(repeat(), what)

    async def subscribe(self, partitions: Sequence[Partition]) -> None:
        """Consume its share of these from now on. The group learns of it at once, or with the next heartbeat.

        As in RocketMQ all members of a group have to subscribe to the same topics: a share goes to a member that did
        not subscribe, too, and nobody consumes it.
        """
        self._topics = _topics(partitions)
        self._note("subscribed")
        self._rebalance.subscribe(partitions)
        with suppress(*COMMAND_FAILURES):
            await self._beat()

    async def _beat(self) -> None:
        await self._context.zones.members.heartbeat(self._context.name, topics=self._topics)

    async def _look_at_route(self) -> None:
        if self._route is not None and await self._route.refresh():
            self._rebalance.wake()

    async def _look(self) -> None:
        changes = await self._context.zones.members.changes()
        if changes != self._changes:
            self._changes = changes
            self._rebalance.wake()

    async def _trim(self) -> None:
        for partition, queue in list(self._context.queues.items()):
            if queue.locked and not queue.dropped:
                await self._context.zones.logs.trim(partition, kept=self._context.settings.kept)

    def _note(self, status: str) -> None:
        context = self._context
        columns = {"group": context.group, "member": context.name, "session": context.session}
        context.observer.note("member", **columns, status=status, detail=self._topics)


def _topics(partitions: Sequence[Partition]) -> str:
    return " ".join(sorted({each.topic for each in partitions}))
