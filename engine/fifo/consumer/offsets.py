"""Offsets of a member in each partition: in memory, and written to the zones.

Nothing is checked: whoever writes last is believed, a zombie too, and a number may fall.
"""

from collections import Counter
from contextlib import suppress

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.asked import asked
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import Order

COMMITS_MAX = 16
"""Commits of one partition that are under way at a time; while there are so many, only the newest other one is kept."""


class Offsets:
    """The cursors that one member has reached, kept in memory until ``flush`` writes them."""

    def __init__(self, context: MemberContext) -> None:
        self._context = context
        self._reached: dict[Partition, Progress] = {}
        self._under_way: Counter[Partition] = Counter()
        self._newest: dict[Partition, Progress] = {}
        """Commits that wait until one of their partition has ended."""

    def reach(self, partition: Partition, progress: Progress, *, only_up: bool = False) -> None:
        """``only_up``: a smaller cursor than before counts for nothing. Without order none keeps what is above."""
        known = self._reached.get(partition)
        if not only_up or known is None or progress.cursor > known.cursor:
            keeps = self._context.settings.order is not Order.NONE
            self._reached[partition] = progress if keeps else Progress(progress.cursor)

    def forget(self, partition: Partition) -> None:
        self._reached.pop(partition, None)

    async def flush(self) -> None:
        """Send them all, one way, at its times and at a stop. A failure is not reported: the next one sends
        them again.
        """
        for partition in self._reached:
            self.write_soon(partition)

    async def repair(self, partition: Partition, cursor: int) -> None:
        """The cursor is beyond the end of the log, which is ``cursor``: put it there, and forget what was known."""
        self.forget(partition)
        await self._write(partition, Progress(cursor))

    def write_soon(self, partition: Partition) -> None:
        """Send it without waiting for the answer, as RocketMQ's one-way message: it may arrive after later ones.

        While ``COMMITS_MAX`` of the partition are without an answer it is sent when one has ended.
        """
        progress = self._reached.get(partition)
        if progress is not None:
            self._send(partition, progress)

    def _send(self, partition: Partition, progress: Progress) -> None:
        if self._under_way[partition] == COMMITS_MAX:
            self._newest[partition] = progress
            return
        self._under_way[partition] += 1
        self._context.spawn(self._sent(partition, progress), f"commit of {partition.name}")

    async def _sent(self, partition: Partition, progress: Progress) -> None:
        await self._write(partition, progress)
        self._under_way[partition] -= 1
        if (newest := self._newest.pop(partition, None)) is not None:
            self._send(partition, newest)

    async def _write(self, partition: Partition, progress: Progress) -> None:
        context = self._context
        moves = {"cursor": progress.cursor, "above": progress.above}
        with suppress(*COMMAND_FAILURES), asked(context, "commit", [partition], **moves):
            await context.zones.logs.commit(partition, context.group, progress)
