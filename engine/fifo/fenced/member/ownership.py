"""A member's side of fenced partitions: a grant has a token, and whoever lost it begins anew under the next one."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.ownership import Ownership
from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.fenced.member.tenures import Tenure, Tenures
from zonelab.engine.fifo.fenced.member.told import told, until_ns
from zonelab.engine.fifo.fenced.register import Fenced
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import MessageModel


class FencedOwnership(Ownership):
    """``lost``: called when a partition is not ours any more, though nobody took it from us."""

    def __init__(self, context: MemberContext, tenures: Tenures, lost: Callable[[], None]) -> None:
        super().__init__(context)
        self._tenures, self._lost = tenures, lost

    def believes(self, queue: ProcessQueue) -> bool:
        """Return whether the member owns ``queue``. A member that gets everything holds a register of its own, which
        its next life takes.
        """
        alone = self._context.settings.sharing is MessageModel.BROADCASTING
        return self._lasts(queue) if alone else super().believes(queue)

    async def take(self, partition: Partition) -> bool:
        """Own it, unless somebody else does. What we have is renewed, or given up if it is not ours any more."""
        context, queue = self._context, self._context.queues.get(partition)
        if queue is not None:
            return await self._keep(queue)
        asked_ns = context.runtime.now_ns()
        try:
            with told(context, "grant", partition) as answered:
                tenure = await self._tenures.take(partition)
                if tenure is None:
                    answered.update(outcome="fail", status="held")
                else:
                    cursor = tenure.cursor.state.progress.cursor
                    named = {name: context.columns(partition)[name] for name in ("generation", "token")}
                    answered.update(named, cursor=cursor, until_ns=until_ns(context, asked_ns))
        except COMMAND_FAILURES:
            return False
        return tenure is not None

    async def renew_all(self) -> None:
        """All that we own, also what is to be given up: its listener may be busy."""
        tasks = [
            self._context.spawn(self._renewal(partition, tenure), f"renewal of {partition.name}")
            for partition, tenure in self._tenures.held.items()
        ]
        for task in tasks:
            await task.join()

    async def release(self, partitions: Sequence[Partition], *, why: str) -> None:
        for partition in partitions:
            tenure = self._tenures.held.get(partition)
            if tenure is None:
                continue
            async with tenure.turn:
                with suppress(*COMMAND_FAILURES), told(self._context, "release", partition, status=why):
                    await self._tenures.release(tenure)
                self._tenures.forget(partition, tenure.token)

    def lose(self, queue: ProcessQueue) -> None:
        """Drop what ``queue`` has cached: the next owner of the partition begins at the cursor."""
        queue.dropped, queue.locked = True, False
        self._tenures.forget(queue.partition, queue.token)
        if self._context.queues.get(queue.partition) is queue:
            del self._context.queues[queue.partition]
        self._lost()

    async def _keep(self, queue: ProcessQueue) -> bool:
        tenure = self._tenures.of(queue.partition, queue.token)
        if tenure is None:
            self.lose(queue)
            return False
        await self._renewal(queue.partition, tenure)
        return self.believes(queue)

    async def _renewal(self, partition: Partition, tenure: Tenure) -> None:
        context, queue = self._context, self._context.queues.get(partition)
        try:
            async with tenure.turn:
                if self._tenures.of(partition, tenure.token) is None:
                    return
                asked_ns, asked_ms = context.runtime.now_ns(), context.clock.now_ms()
                with told(context, "renew", partition) as answered:
                    await self._tenures.renew(tenure)
                    answered.update(until_ns=until_ns(context, asked_ns))
        except Fenced:
            if queue is not None and queue.token == tenure.token:
                self.lose(queue)
            self._tenures.forget(partition, tenure.token)
        except COMMAND_FAILURES:
            return
        else:
            if queue is not None and queue.token == tenure.token:
                queue.locked, queue.locked_ms = True, asked_ms
