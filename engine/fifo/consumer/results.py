"""What becomes of a batch, by what its listener said."""

from collections.abc import Sequence

from engine.common.failures import COMMAND_FAILURES
from engine.fifo.consumer.asked import asked
from engine.fifo.consumer.context import MemberContext
from engine.fifo.consumer.listener import Handling, Outcome
from engine.fifo.consumer.offsets import Offsets
from engine.fifo.consumer.process_queue import Cached, ProcessQueue

LEVELS_SKIPPED = 3
"""A dead letter that failed n times waits as long as a message of the delay level 3 + n."""


GOES_ON = None
"""The loop takes the next batch; otherwise it ends, and is begun again after a pause, in ms."""


class Results:
    def __init__(self, context: MemberContext, offsets: Offsets) -> None:
        self._context, self._offsets = context, offsets

    async def of(
        self, queue: ProcessQueue, batch: Sequence[Cached], said: Outcome | None, handling: Handling
    ) -> int | None:
        """Carry out ``said`` for ``batch``, just taken from ``queue``: ``GOES_ON``, or the pause in ms."""
        outcome = said or Outcome.SUSPEND
        if outcome is Outcome.SUSPEND:
            return await self._failed(queue, batch, handling)
        if handling.commits_itself or outcome is Outcome.COMMIT:
            self._commit(queue)
        elif outcome is Outcome.ROLLBACK:
            queue.roll_back()
            return self._pause(handling)
        return GOES_ON

    async def _failed(self, queue: ProcessQueue, batch: Sequence[Cached], handling: Handling) -> int | None:
        again = False
        for each in batch:
            dead = each.failed >= self._context.settings.reconsumed_max and await self._bury(queue, each)
            if not dead:
                each.failed += 1
                again = True
        if again:
            queue.put_back(batch)  # those too that are dead letters by now: they will be delivered, and buried, again
            return self._pause(handling)
        if handling.commits_itself:
            self._commit(queue)
        return GOES_ON

    async def _bury(self, queue: ProcessQueue, dead: Cached) -> bool:
        context, rules = self._context, self._context.settings.rules
        levels = context.times_ms.dead_letter_levels
        level = min(LEVELS_SKIPPED + dead.failed, len(levels))
        entry, attempts = dead.entry, dead.failed + rules.counts_last
        columns = {"offset": entry.offset, "message_id": entry.record.id, "key": entry.record.key}
        try:
            with asked(context, "dead_letter", [queue.partition], **columns):
                await context.zones.dead_letters.add(
                    queue.partition,
                    entry,
                    attempts=attempts,
                    delay_ms=levels[level - 1] if rules.dead_letters_wait else 0,
                )
        except COMMAND_FAILURES:
            return False
        return True

    def _commit(self, queue: ProcessQueue) -> None:
        """In memory. Whoever has dropped the partition commits nothing, so the next owner gets the batch again."""
        reached = queue.commit()
        if reached is not None and not queue.dropped:
            self._offsets.reach(queue.partition, reached)

    def _pause(self, handling: Handling) -> int:
        times = self._context.times_ms
        wanted = times.suspend if handling.suspend_ms is None else handling.suspend_ms
        return min(max(wanted, times.suspend_least), times.suspend_most)
