"""Reading a partition's log into the cache."""

from engine.common.failures import COMMAND_FAILURES
from engine.fifo.consumer.consume_loop import ConsumeLoop
from engine.fifo.consumer.context import NS_PER_MS, MemberContext
from engine.fifo.consumer.offsets import Offsets
from engine.fifo.consumer.process_queue import ProcessQueue
from engine.fifo.partition import Partition
from engine.fifo.settings import Begin


class Pulls:
    def __init__(self, context: MemberContext, offsets: Offsets, loop: ConsumeLoop) -> None:
        self._context, self._offsets, self._loop = context, offsets, loop

    def begin(self, queue: ProcessQueue) -> None:
        self._context.spawn(self._pull(queue), f"pull {queue.partition.name}")

    async def beginning(self, partition: Partition) -> int:
        """Where to begin: the group's cursor, or what the group's settings say. Raises what the port raises."""
        context = self._context
        cursor = await context.zones.logs.cursor(partition, context.settings.group)
        if cursor is not None:
            return cursor
        return 0 if context.settings.begins is Begin.FIRST else await context.zones.logs.end(partition)

    async def _pull(self, queue: ProcessQueue) -> None:
        context, times = self._context, self._context.times_ms
        await context.sleep(times.first_pull)
        tells_ns = 0
        while not queue.dropped:
            queue.pulled_ms = context.clock.now_ms()
            if not queue.locked:
                await context.sleep(times.pull_retry)
            elif self._full(queue):
                await context.sleep(times.credit_retry)
            else:
                if context.runtime.now_ns() >= tells_ns:
                    self._tell(queue)
                    tells_ns = context.runtime.now_ns() + times.long_poll * NS_PER_MS
                try:
                    found = await self._once(queue)
                except COMMAND_FAILURES:
                    await context.sleep(times.pull_retry)
                    continue
                if found:
                    tells_ns = 0
                else:
                    await context.sleep(times.idle)

    def _full(self, queue: ProcessQueue) -> bool:
        """There is no credit left: what is cached and not committed counts, so a unit of work must fit in."""
        settings = self._context.settings
        return queue.cached > settings.credit or queue.cached_bytes > settings.credit_bytes

    def _tell(self, queue: ProcessQueue) -> None:
        """Every pull of RocketMQ says how far the member is, and the broker believes it.

        Ours does so when a pull has found something, or none has for as long as a long poll lasts.
        """
        self._offsets.write_soon(queue.partition)

    async def _once(self, queue: ProcessQueue) -> bool:
        if not queue.was_locked:
            # Read a second time: until now the last owner may have gone on. Later nobody looks at the cursor again.
            queue.next_offset = await self.beginning(queue.partition)
            queue.was_locked = True
        count = self._context.settings.pulled
        entries = await self._context.zones.logs.read(queue.partition, offset=queue.next_offset, count=count)
        if queue.dropped:
            return False
        if not entries:
            if not queue.cached:
                self._offsets.reach(queue.partition, queue.next_offset, only_up=True)
            return False
        queue.next_offset = entries[-1].offset + 1
        if queue.put(entries):
            self._loop.begin(queue)
        return True
