"""Handling of a batch's result where partitions are fenced: each result is decided before the next batch is handed out.

Cursor, failures and what is put aside are one state, so that a member that dies leaves all of it or nothing.
"""

from collections.abc import Callable, Sequence

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.listener import BatchContext
from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.consumer.process_queue import CachedMessage, ProcessQueue
from zonelab.engine.fifo.consumer.results import GOES_ON, Results, columns_of
from zonelab.engine.fifo.fenced.cursor import SetAside
from zonelab.engine.fifo.fenced.member.tenures import Tenure, Tenures
from zonelab.engine.fifo.fenced.member.told import told
from zonelab.engine.fifo.fenced.register import Fenced
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.settings import Poison
from zonelab.engine.units import NS_PER_MS


class FencedResults(Results):
    """``lose``: called with a queue whose results were refused, or are unknown. ``stores``: zones keep failures."""

    def __init__(
        self,
        context: MemberContext,
        offsets: Offsets,
        tenures: Tenures,
        lose: Callable[[ProcessQueue], None],
        *,
        stores: bool = True,
    ) -> None:
        super().__init__(context, offsets)
        self._tenures, self._lose, self._stores = tenures, lose, stores

    async def _reach(self, queue: ProcessQueue, reached: Progress) -> None:
        try:
            tenure = self._tenure(queue)
            was = tenure.cursor.state.progress.cursor
            moves = {"offset": was, "cursor": reached.cursor, "above": reached.above}
            with told(self._context, "commit", queue.partition, [moves]):
                await tenure.cursor.commit(reached)
        except COMMAND_FAILURES:
            self._lose(queue)

    async def _failed(
        self, queue: ProcessQueue, lane: str, batch: Sequence[CachedMessage], handling: BatchContext
    ) -> int | None:
        settings = self._context.settings
        spared = settings.poison is Poison.BLOCK
        hopeless = [each for each in batch if not spared and each.failed >= settings.reconsumed_max]
        left = [each for each in batch if each not in hopeless]
        if hopeless and not await self._put_aside(queue, lane, hopeless):
            return GOES_ON
        if not left:
            return GOES_ON
        pause_ms = self._pause(handling)
        if self._stores and not await self._counted(queue, left, pause_ms):
            return GOES_ON
        for each in left:
            each.failed += 1
            if not self._stores:
                self._tell_failed(queue, each, handling)
        queue.put_back(left, lane)
        return pause_ms

    async def _park(self, queue: ProcessQueue, lane: str, poison: CachedMessage) -> bool:
        """A later message of a parked key."""
        return await self._put_aside(queue, lane, [poison])

    async def _put_aside(self, queue: ProcessQueue, lane: str, batch: Sequence[CachedMessage]) -> bool:
        parks = self._context.settings.poison is Poison.PARK
        why = "park" if parks else "dead_letter"
        these = [
            SetAside(offset=each.entry.offset, record=each.entry.record, why=why, attempts=each.failed + 1)
            for each in batch
        ]
        keys = [each.record.key for each in these] if parks else []
        try:
            tenure = self._tenure(queue)
            with told(self._context, why, queue.partition, [columns_of(each.entry) for each in batch]) as answered:
                await tenure.cursor.put_aside(these, park=keys)
                answered["cursor"] = tenure.cursor.state.progress.cursor
        except COMMAND_FAILURES:
            self._lose(queue)
            return False
        queue.parked.update(keys)
        queue.finish(batch, lane)
        return True

    async def _counted(self, queue: ProcessQueue, batch: Sequence[CachedMessage], pause_ms: int) -> bool:
        context = self._context
        until_ns = context.runtime.now_ns() + pause_ms * NS_PER_MS
        each = [{**columns_of(one.entry), "attempt": one.failed + 1, "until_ns": until_ns} for one in batch]
        try:
            tenure = self._tenure(queue)
            with told(context, "fail", queue.partition, each):
                offsets = [one.entry.offset for one in batch]
                await tenure.cursor.fail(offsets, rests_until_ms=context.clock.now_ms() + pause_ms)
        except COMMAND_FAILURES:
            self._lose(queue)
            return False
        return True

    def _tenure(self, queue: ProcessQueue) -> Tenure:
        """Under which ``queue`` works. Raises ``Fenced`` if it has ended."""
        tenure = self._tenures.of(queue.partition, queue.token)
        if tenure is None:
            raise Fenced(f"{queue.partition.name}: token {queue.token} is not ours any more")
        return tenure
