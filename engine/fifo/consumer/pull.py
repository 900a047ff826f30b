"""Reading a partition's log into the cache."""

from collections.abc import Callable

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.consume_loop import ConsumeLoop
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.consumer.results import Results
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import Begin, Order
from zonelab.engine.units import NS_PER_MS


class Pulls:
    """``rebalance``: begins one at once, after a partition was dropped whose cursor had to be repaired."""

    def __init__(
        self,
        context: MemberContext,
        offsets: Offsets,
        loop: ConsumeLoop,
        results: Results,
        rebalance: Callable[[], None],
    ) -> None:
        self._context, self._offsets, self._loop, self._results = context, offsets, loop, results
        self._rebalance = rebalance

    def begin(self, queue: ProcessQueue) -> None:
        self._context.spawn(self._pull(queue), f"pull {queue.partition.name}")

    async def beginning(self, partition: Partition) -> Progress:
        """Return where to begin: at the group's progress, or where its settings say. Raises what the port raises."""
        context = self._context
        progress = await context.zones.logs.progress(partition, context.group)
        if progress is not None:
            return progress
        first = 0 if context.settings.begins is Begin.FIRST else await context.zones.logs.end(partition)
        await context.zones.logs.join(partition, context.group, first)
        context.observer.note("assign", **context.columns(partition), status="begins", cursor=first)
        return Progress(first)

    async def _pull(self, queue: ProcessQueue) -> None:
        context, times = self._context, self._context.times_ms
        await context.sleep(times.first_pull)
        tells_ns = 0
        while not queue.dropped:
            queue.pulled_ms = context.clock.now_ms()
            if not queue.locked:
                await context.sleep(times.pull_retry)
            elif self._results.full(queue) or self._too_far(queue):
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

    def _too_far(self, queue: ProcessQueue) -> bool:
        return self._context.settings.order in (Order.KEY, Order.NONE) and queue.span > self._context.settings.span

    def _tell(self, queue: ProcessQueue) -> None:
        """Every pull of RocketMQ says how far the member is, and the broker believes it.

        Ours does so when a pull has found something, or none has for as long as a long poll lasts.
        """
        self._offsets.write_soon(queue.partition)

    async def _once(self, queue: ProcessQueue) -> bool:
        if not queue.was_locked:
            # Read a second time: until now the last owner may have gone on. Later nobody looks at the cursor again.
            queue.begin_at(await self.beginning(queue.partition))
            queue.parked.update(await self._context.zones.parked.parked_keys(queue.partition, self._context.group))
            queue.was_locked = True
        count = self._context.settings.pulled
        page = await self._context.zones.logs.page(queue.partition, offset=queue.next_offset, count=count)
        if queue.dropped:
            return False
        now_ms = self._context.clock.now_ms()
        if page.due_ms is not None and page.due_ms <= now_ms:
            await self._context.zones.logs.deliver(queue.partition, now_ms=now_ms)
        if not page.entries:
            if page.end < queue.next_offset:
                await self._repair(queue, page.end)
            elif not queue.cached:
                self._offsets.reach(queue.partition, queue.progress, only_up=True)
            return False
        for lane in queue.put(page.entries, failed=self._context.zones.failed(queue.partition)):
            self._loop.begin(queue, lane)
        return True

    async def _repair(self, queue: ProcessQueue, end: int) -> None:
        """The log has lost its end, or never had the offset of the cursor: RocketMQ's OFFSET_ILLEGAL.

        What is cached is dropped, the cursor put to the end of the log, and the partition gained anew. (Versions before
        4.9 begin at 0 if the log does.)
        """
        queue.dropped = True
        await self._offsets.repair(queue.partition, end)
        if self._context.queues.get(queue.partition) is queue:
            del self._context.queues[queue.partition]
        self._rebalance()
