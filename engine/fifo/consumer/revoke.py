"""Giving up a partition that another member is to have."""

from zonelab.engine.fifo.consumer.consume_loop import ConsumeLoop
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.consumer.ownership import Ownership
from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.settings import Release


class Revoke:
    """``of``: try it for one that is dropped. False: its listener is busy; the next rebalance tries again."""

    def __init__(self, context: MemberContext, ownership: Ownership, offsets: Offsets, loop: ConsumeLoop) -> None:
        self._context, self._ownership, self._offsets, self._loop = context, ownership, offsets, loop

    async def of(self, queue: ProcessQueue) -> bool:
        """Give ``queue`` back by the rule of the settings; False if it is kept until its batch has ended."""
        self._offsets.write_soon(queue.partition)
        if self._context.settings.rules.release is Release.FORCED:
            return await self._forced(queue)
        return await self._delayed(queue)

    async def _forced(self, queue: ProcessQueue) -> bool:
        age_ms = self._context.clock.now_ms() - queue.locked_ms
        forced = age_ms > self._context.times_ms.forced_unlock
        if not forced and not await self._quiet(queue):
            return False
        self._offsets.write_soon(queue.partition)
        self._offsets.forget(queue.partition)
        queue.locked = False
        self._ownership.release_soon(queue.partition, why="forced" if forced else "drained")
        return True

    async def _delayed(self, queue: ProcessQueue) -> bool:
        self._offsets.forget(queue.partition)
        if not await self._quiet(queue):
            return False
        if queue.cached:
            self._context.spawn(self._release_later(queue), f"release {queue.partition.name} later")
        else:
            self._ownership.release_soon(queue.partition, why="drained")
        return True

    async def _release_later(self, queue: ProcessQueue) -> None:
        await self._context.sleep(self._context.times_ms.forced_unlock)
        await self._ownership.release([queue.partition], why="drained")

    async def _quiet(self, queue: ProcessQueue) -> bool:
        return await self._loop.quiet(queue.partition, wait_ms=self._context.times_ms.revoke_wait)
