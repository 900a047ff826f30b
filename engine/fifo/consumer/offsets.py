"""How far a member is in each partition, in memory, and the writing of it to the zones.

Nothing is checked: whoever writes last is believed, a zombie too, and a number may fall.
"""

from contextlib import suppress

from engine.common.failures import COMMAND_FAILURES
from engine.fifo.consumer.asked import asked
from engine.fifo.consumer.context import MemberContext
from engine.fifo.partition import Partition


class Offsets:
    def __init__(self, context: MemberContext) -> None:
        self._context = context
        self._reached: dict[Partition, int] = {}

    def reach(self, partition: Partition, offset: int, *, only_up: bool = False) -> None:
        """``only_up``: a smaller number than before counts for nothing."""
        if not only_up or offset > self._reached.get(partition, -1):
            self._reached[partition] = offset

    def forget(self, partition: Partition) -> None:
        self._reached.pop(partition, None)

    async def flush(self) -> None:
        """Write them all. A failure is not told: the next one writes them again."""
        for partition, offset in list(self._reached.items()):
            await self._write(partition, offset)

    def write_soon(self, partition: Partition) -> None:
        """Without waiting for it, as RocketMQ's one-way message: it may arrive after what is sent later."""
        offset = self._reached.get(partition)
        if offset is not None:
            self._context.spawn(self._write(partition, offset), f"commit of {partition.name}")

    async def _write(self, partition: Partition, offset: int) -> None:
        context = self._context
        with suppress(*COMMAND_FAILURES), asked(context, "commit", [partition], cursor=offset):
            await context.zones.logs.commit(partition, context.settings.group, offset)
