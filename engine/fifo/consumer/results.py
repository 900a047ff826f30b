"""Handling of a batch's result, by the answer of its listener."""

from collections.abc import Sequence
from typing import Any

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.asked import asked
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.listener import BatchContext, ConsumeStatus
from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.consumer.process_queue import CachedMessage, ProcessQueue
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import LogEntry
from zonelab.engine.fifo.settings import Poison

LEVELS_SKIPPED = 3
"""A dead letter that failed n times waits as long as a message of the delay level 3 + n."""


GOES_ON = None
"""The loop takes the next batch; otherwise it ends, and is begun again after a pause, in ms."""


class Results:
    """Does what the user's handler has decided about a batch: commits it, repeats it, or sets it aside."""

    def __init__(self, context: MemberContext, offsets: Offsets) -> None:
        self._context, self._offsets = context, offsets

    async def of(
        self,
        queue: ProcessQueue,
        lane: str,
        batch: Sequence[CachedMessage],
        said: ConsumeStatus | None,
        handling: BatchContext,
    ) -> int | None:
        """Carry out ``said`` for ``batch``, just taken from ``lane``: ``GOES_ON``, or the pause in ms."""
        outcome = said or ConsumeStatus.SUSPEND
        if outcome is ConsumeStatus.SUSPEND:
            return await self._failed(queue, lane, batch, handling)
        if handling.commits_itself or outcome is ConsumeStatus.COMMIT:
            await self._commit(queue, lane)
        elif outcome is ConsumeStatus.ROLLBACK:
            queue.roll_back(lane)
            return self._pause(handling)
        return GOES_ON

    async def without_parked(
        self, queue: ProcessQueue, lane: str, batch: Sequence[CachedMessage]
    ) -> list[CachedMessage]:
        """Those of ``batch`` that a listener may have; messages of parked keys go aside.

        One that cannot be put aside now goes to the listener: it will fail, and be parked then.
        """
        return [
            each
            for each in batch
            if each.entry.record.key not in queue.parked or not await self._park(queue, lane, each)
        ]

    def explain(self, queue: ProcessQueue) -> None:
        """Tell of a dead stop: the credit is used up by what was handed out, and nothing comes that could commit it."""
        if queue.at_rest and self.full(queue):
            detail = f"{queue.cached} messages are not committed, credit {self._context.settings.credit}"
            self._context.observer.note(
                "assign", **self._context.columns(queue.partition), status="credit", detail=detail
            )

    def full(self, queue: ProcessQueue) -> bool:
        """There is no credit left: what is cached and not committed counts, so a unit of work must fit in."""
        settings = self._context.settings
        return queue.cached > settings.credit or queue.cached_bytes > settings.credit_bytes

    async def _failed(
        self, queue: ProcessQueue, lane: str, batch: Sequence[CachedMessage], handling: BatchContext
    ) -> int | None:
        settings = self._context.settings
        buries = settings.poison is Poison.SKIP
        again, left = False, []
        for each in batch:
            hopeless = each.failed >= settings.reconsumed_max
            if settings.poison is Poison.PARK and hopeless and await self._park(queue, lane, each):
                continue
            left.append(each)
            if not (buries and hopeless and await self._bury(queue, each)):
                each.failed += 1
                self._tell_failed(queue, each, handling)
                again = True
        if again:
            queue.put_back(left, lane)  # those too that are dead letters by now: they will come, and be buried, again
            return self._pause(handling)
        if handling.commits_itself:
            await self._commit(queue, lane)
        return GOES_ON

    def _tell_failed(self, queue: ProcessQueue, failed: CachedMessage, handling: BatchContext) -> None:
        columns = {**columns_of(failed.entry), "attempt": failed.failed, "pause_ms": self._pause(handling)}
        with asked(self._context, "fail", [queue.partition], **columns):
            pass  # it is counted here alone, where another member will not find it

    async def _bury(self, queue: ProcessQueue, dead: CachedMessage) -> bool:
        context, rules = self._context, self._context.settings.rules
        levels = context.times_ms.dead_letter_levels
        level = min(LEVELS_SKIPPED + dead.failed, len(levels))
        entry, attempts = dead.entry, dead.failed + rules.counts_last
        try:
            with asked(context, "dead_letter", [queue.partition], **columns_of(entry)):
                await context.zones.dead_letters.add(
                    queue.partition,
                    entry,
                    attempts=attempts,
                    delay_ms=levels[level - 1] if rules.dead_letters_wait else 0,
                )
        except COMMAND_FAILURES:
            return False
        return True

    async def _park(self, queue: ProcessQueue, lane: str, poison: CachedMessage) -> bool:
        entry = poison.entry
        try:
            with asked(self._context, "park", [queue.partition], **columns_of(entry)):
                await self._context.zones.parked.add(queue.partition, self._context.group, entry)
        except COMMAND_FAILURES:
            return False
        queue.parked.add(entry.record.key)
        await self._reach(queue, queue.finish([poison], lane))
        return True

    async def _commit(self, queue: ProcessQueue, lane: str) -> None:
        reached = queue.commit(lane)
        if reached is not None:
            await self._reach(queue, reached)

    async def _reach(self, queue: ProcessQueue, reached: Progress) -> None:
        """In memory. Whoever has dropped the partition commits nothing, so the next owner gets the batch again."""
        if not queue.dropped:
            self._offsets.reach(queue.partition, reached)

    def _pause(self, handling: BatchContext) -> int:
        times = self._context.times_ms
        wanted = times.suspend if handling.suspend_ms is None else handling.suspend_ms
        return min(max(wanted, times.suspend_least), times.suspend_most)


def columns_of(entry: LogEntry) -> dict[str, Any]:
    """The columns of the order history that say which record an event is about."""
    record = entry.record
    return {"offset": entry.offset, "epoch": record.epoch, "message_id": record.id, "key": record.key}
