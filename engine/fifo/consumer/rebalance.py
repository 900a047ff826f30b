"""Working out which partitions are ours, giving up the others, and taking the locks of the new ones."""

from collections.abc import Sequence
from itertools import groupby

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.assignment.strategies import Strategy
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.consumer.ownership import Ownership
from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.consumer.pull import Pulls
from zonelab.engine.fifo.consumer.revoke import Revoke
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import MessageModel
from zonelab.engine.fifo.topics.followed import FollowedRoute
from zonelab.engine.ports import Promise
from zonelab.engine.units import NS_PER_MS


class Rebalance:
    """One at a time: at a tick, or as soon as ``wake`` is called; with ``hurries`` not more often than the least.

    ``partitions``: those that the member subscribes to; with ``route`` those that it knows of at the time.
    """

    def __init__(
        self,
        context: MemberContext,
        *,
        partitions: Sequence[Partition],
        route: FollowedRoute | None,
        strategy: Strategy,
        ownership: Ownership,
        offsets: Offsets,
        pulls: Pulls,
        revoke: Revoke,
    ) -> None:
        self._context, self._partitions, self._route, self._strategy = context, sorted(partitions), route, strategy
        self._ownership, self._offsets, self._pulls, self._revoke = ownership, offsets, pulls, revoke
        self._assigned: list[Partition] = []
        self._woken = False
        self._sleeping: Promise[None] | None = None

    def subscribe(self, partitions: Sequence[Partition]) -> None:
        """These from now on."""
        self._partitions = sorted(partitions)
        self.wake()

    def wake(self) -> None:
        self._woken = True
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    async def run(self) -> None:
        """For ever."""
        context, times = self._context, self._context.times_ms
        hurries = context.settings.rules.hurries
        while True:
            begun_ns = context.runtime.now_ns()
            self._woken = False
            balanced = await self._once()
            await self._sleep(times.rebalance if balanced or not hurries else times.rebalance_least)
            rest_ns = begun_ns + times.rebalance_least * NS_PER_MS - context.runtime.now_ns()
            if hurries and rest_ns > 0:
                await context.runtime.sleep(rest_ns)

    async def _sleep(self, duration_ms: int) -> None:
        if not self._woken:
            self._sleeping = self._context.runtime.promise()
            timer = self._context.runtime.call_later(duration_ms * NS_PER_MS, self.wake)
            await self._sleeping
            timer.cancel()

    async def _once(self) -> bool:
        """Return whether this member now has what it is assigned, and nothing else."""
        try:
            assigned = await self._share()
        except COMMAND_FAILURES:
            return True  # nobody knows the members: everything stays as it is until the next tick
        except ValueError:
            return False
        self._tell(assigned)
        await self._give_up(assigned)
        for partition in assigned:
            if partition not in self._context.queues:
                await self._gain(partition)
        return set(assigned) == {each for each, queue in self._context.queues.items() if not queue.dropped}

    async def _share(self) -> list[Partition]:
        partitions = self._partitions if self._route is None else sorted(self._route.known.consumed)
        if self._context.settings.sharing is MessageModel.BROADCASTING:
            return partitions
        members = await self._context.zones.members.names()
        by_topic = [list(each) for _, each in groupby(partitions, key=lambda partition: partition.topic)]
        return [each for those in by_topic for each in self._strategy(self._context.name, members, those)]

    async def _give_up(self, assigned: Sequence[Partition]) -> None:
        queues, now_ms = self._context.queues, self._context.clock.now_ms()
        revoked = [
            queue for partition, queue in queues.items() if partition not in assigned or self._idle(queue, now_ms)
        ]
        for queue in revoked:
            queue.dropped = True
        for queue in revoked:
            if await self._revoke.of(queue) and queues.get(queue.partition) is queue:
                del queues[queue.partition]

    def _idle(self, queue: ProcessQueue, now_ms: int) -> bool:
        return now_ms - queue.pulled_ms > self._context.times_ms.pull_idle

    async def _gain(self, partition: Partition) -> None:
        context = self._context
        try:
            if self._route is not None and not await self._route.passed(partition, context.group):
                return
            if not await self._ownership.take(partition):
                return
            self._offsets.forget(partition)
            progress = await self._pulls.beginning(partition)
        except COMMAND_FAILURES:
            return  # an unknown cursor is not the same as none: the next rebalance asks again
        now_ms, settings = context.clock.now_ms(), context.settings
        locked = settings.rules.own_at_once or not settings.locks
        queue = ProcessQueue(partition, next_offset=progress.cursor, locked=locked, now_ms=now_ms, order=settings.order)
        _, queue.token = context.zones.fence(partition) or (0, 0)
        context.queues[partition] = queue
        self._pulls.begin(queue)

    def _tell(self, assigned: list[Partition]) -> None:
        before, self._assigned = self._assigned, assigned
        for status, these in (
            ("revoked", [each for each in before if each not in assigned]),
            ("assigned", [each for each in assigned if each not in before]),
        ):
            for partition in these:
                self._context.observer.note("assign", **self._context.columns(partition), status=status)
