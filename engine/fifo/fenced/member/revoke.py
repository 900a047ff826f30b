"""Giving up a fenced partition: when its listener has ended and its result is stored."""

from zonelab.engine.fifo.consumer.consume_loop import ConsumeLoop
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.consumer.ownership import Ownership
from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.consumer.revoke import Revoke


class DrainedRevoke(Revoke):
    """``drains``: a mechanism; off, it waits for nobody."""

    def __init__(
        self,
        context: MemberContext,
        ownership: Ownership,
        offsets: Offsets,
        loop: ConsumeLoop,
        *,
        drains: bool = True,
    ) -> None:
        super().__init__(context, ownership, offsets, loop)
        self._drains = drains

    async def of(self, queue: ProcessQueue) -> bool:
        if self._drains:
            if not await self._quiet(queue):
                return False
            await self._loop.ended(queue.partition)
        await self._ownership.release([queue.partition], why="drained")
        return True
