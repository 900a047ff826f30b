"""The loop that hands a partition's messages to the listener, one batch after another.

Before each batch it asks whether the partition is still ours, as far as this member knows; during a batch and after it
nobody asks. So a listener that works, or stands still, beyond the lease goes on beside that of the next owner.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from zonelab.engine.common.mutex import Mutex, Semaphore
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.hooks import HandledBatch, Watchers, how
from zonelab.engine.fifo.consumer.listener import BatchContext, BatchMessage, ConsumeStatus
from zonelab.engine.fifo.consumer.ownership import Ownership
from zonelab.engine.fifo.consumer.process_queue import CachedMessage, ProcessQueue
from zonelab.engine.fifo.consumer.results import GOES_ON, Results
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Promise
from zonelab.engine.units import NS_PER_MS


class ConsumeLoop:
    """The consume loop of one member. Up to ``threads`` requests are under way at once, those for a lane one after the
    other.
    """

    def __init__(self, context: MemberContext, ownership: Ownership, results: Results) -> None:
        self._context, self._ownership, self._results = context, ownership, results
        self.watchers = Watchers(context.hooks)
        self._threads = Semaphore(context.runtime, context.settings.threads)
        self._one_at_a_time: dict[tuple[Partition, str], Mutex] = {}
        self._listening: dict[Partition, int] = defaultdict(int)
        self._waiting: dict[Partition, list[Promise[None]]] = defaultdict(list)
        self.stopping = False
        """It asks for no lock any more: RocketMQ's timer for that is the first to stop."""

    def begin(self, queue: ProcessQueue, lane: str) -> None:
        """A request for ``lane``: there is one at a time, which ends when nothing of it is cached."""
        self._context.spawn(self._request(queue, lane), f"consume {queue.partition.name}")

    async def quiet(self, partition: Partition, *, wait_ms: int) -> bool:
        """Return whether no listener is busy with ``partition``, at the latest after ``wait_ms``."""
        if self._listening[partition]:
            ended: Promise[None] = self._context.runtime.promise()
            self._waiting[partition].append(ended)

            def give_up() -> None:
                if not ended.done():
                    ended.set_result(None)

            timer = self._context.runtime.call_later(wait_ms * NS_PER_MS, give_up)
            await ended
            timer.cancel()
        return not self._listening[partition]

    async def ended(self, partition: Partition) -> None:
        """Wait for the requests that are under way: what their listeners said has been carried out then."""
        for (whose, _), turn in list(self._one_at_a_time.items()):
            if whose == partition:
                async with turn:
                    pass

    async def _request(self, queue: ProcessQueue, lane: str) -> None:
        where = queue.partition, lane
        turn = self._one_at_a_time.setdefault(where, Mutex(self._context.runtime))
        async with self._threads, turn:
            if not queue.dropped and self._ownership.believes(queue):
                await self._batches(queue, lane)
            elif not queue.dropped:
                self._later(queue, lane, self._context.times_ms.relock)
        if turn.idle:
            self._one_at_a_time.pop(where, None)

    async def _batches(self, queue: ProcessQueue, lane: str) -> None:
        context, times = self._context, self._context.times_ms
        slice_ends_ns = context.runtime.now_ns() + times.slice * NS_PER_MS
        while not queue.dropped:
            if not self._ownership.believes(queue):
                self._later(queue, lane, times.relock_in_loop)
                return
            if context.runtime.now_ns() > slice_ends_ns:
                self._again(queue, lane, times.resume)
                return
            batch = queue.take(context.settings.batch, lane)
            if not batch:
                self._results.explain(queue)
                return
            pause_ms = await self._worked_on(queue, lane, batch)
            if pause_ms is not GOES_ON:
                self._again(queue, lane, pause_ms)
                return

    async def _worked_on(self, queue: ProcessQueue, lane: str, batch: Sequence[CachedMessage]) -> int | None:
        handling = BatchContext(partition=queue.partition, fence=self._context.zones.fence(queue.partition) or (0, 0))
        wanted = await self._results.without_parked(queue, lane, batch)
        if not wanted or queue.dropped:
            return GOES_ON
        said = await self._handed_over(queue, wanted, handling)
        return await self._results.of(queue, lane, wanted, said, handling)

    async def _handed_over(
        self, queue: ProcessQueue, batch: Sequence[CachedMessage], handling: BatchContext
    ) -> ConsumeStatus | None:
        now_ns = self._context.runtime.now_ns()
        delivered = [self._delivered(queue.partition, each, now_ns) for each in batch]
        self._listening[queue.partition] += 1
        self.watchers.before(queue.partition, delivered)
        begun_ns, raised = self._context.runtime.now_ns(), False
        try:
            said = await self._context.listener(delivered, handling)
        except Exception:
            said, raised = None, True
        status = "error" if said is None else str(said)
        # A member that was killed comes to no end: nothing is reported of it, and nobody waits for its listener.
        for each in delivered:
            columns = self._columns(queue.partition, each.record, each.offset, each.attempt)
            self._context.observer.note("end", **columns, op_id=each.op_id, status=status)
        self._released(queue.partition)
        duration_ms = (self._context.runtime.now_ns() - begun_ns) / NS_PER_MS
        returned = how(said, raised=raised, duration_ms=duration_ms)
        handled = HandledBatch(
            partition=queue.partition, messages=delivered, said=said, returned=returned, duration_ms=duration_ms
        )
        self.watchers.after(handled, handling)
        return said

    def _delivered(self, partition: Partition, cached: CachedMessage, now_ns: int) -> BatchMessage:
        record, offset, attempt = cached.entry.record, cached.entry.offset, cached.failed + 1
        op_id = self._context.observer.start(**self._columns(partition, record, offset, attempt), time_ns=now_ns)
        return BatchMessage(record=record, offset=offset, attempt=attempt, op_id=op_id)

    def _columns(self, partition: Partition, record: PartitionRecord, offset: int, attempt: int) -> dict[str, Any]:
        row = {"offset": offset, "attempt": attempt, "key": record.key, "message_id": record.id, "epoch": record.epoch}
        return {**self._context.columns(partition), **row}

    def _released(self, partition: Partition) -> None:
        self._listening[partition] -= 1
        if not self._listening[partition]:
            for ended in self._waiting.pop(partition, []):
                if not ended.done():
                    ended.set_result(None)

    def _again(self, queue: ProcessQueue, lane: str, pause_ms: int) -> None:
        async def resume() -> None:
            await self._context.sleep(pause_ms)
            self.begin(queue, lane)

        self._context.spawn(resume(), f"resume {queue.partition.name}")

    def _later(self, queue: ProcessQueue, lane: str, pause_ms: int) -> None:
        """Ask for the lock after ``pause_ms``, again and again, and go on when it was granted.

        Lanes that come while somebody is about to ask wait for the same answer.
        """
        if self.stopping:
            return
        queue.relocking.append(lane)
        if len(queue.relocking) > 1:
            return

        async def relock() -> None:
            times = self._context.times_ms
            await self._context.sleep(pause_ms)
            if queue.dropped or self.stopping:
                return
            granted = await self._ownership.take(queue.partition)
            lanes, queue.relocking = queue.relocking, []
            for each in lanes:
                self._again(queue, each, times.resume if granted else times.relock_retry)

        self._context.spawn(relock(), f"lock {queue.partition.name} again")
