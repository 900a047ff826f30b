"""The member's side of the locks: taking, renewing and giving up, and what it remembers of them."""

from collections.abc import Sequence

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.asked import asked
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Indeterminate

REFUSED = {"grant": "held", "renew": "fenced"}
"""Events that report a lock that another member has."""


class Ownership:
    """The partition locks of one member: asks the zones for them and judges whether it still holds them."""

    def __init__(self, context: MemberContext) -> None:
        self._context = context
        self._locks = context.zones.locks

    def believes(self, queue: ProcessQueue) -> bool:
        """The member thinks that it may hand out messages: it heard so, and not too long ago by its own clock."""
        return not self._context.settings.locks or self._lasts(queue)

    def _lasts(self, queue: ProcessQueue) -> bool:
        now_ms, lease_ms = self._context.clock.now_ms(), self._context.times_ms.client_lease
        return queue.locked and not queue.expired(now_ms=now_ms, lease_ms=lease_ms)

    async def take(self, partition: Partition) -> bool:
        """Ask for the lock of one partition. A failure counts as a refusal.

        Zones that did not agree may have given it here and there, so it is given back. Without locks it is granted.
        """
        if not self._context.settings.locks:
            return True
        try:
            granted = await self._ask("grant", [partition])
        except Indeterminate:
            await self.release([partition], why="split")
            return False
        except COMMAND_FAILURES:
            return False
        queue = self._context.queues.get(partition)
        if queue is not None and granted:
            self._heard(queue, granted=True)
        return bool(granted)

    async def renew_all(self) -> None:
        """Ask for all that is held, in one round trip. If that fails, nothing changes."""
        held = self._held()
        if not held or not self._context.settings.locks:
            return
        granted = await self._ask("renew", list(held))
        for partition, queue in held.items():
            self._heard(queue, granted=partition in granted)

    async def release_all(self) -> None:
        """Give up all that is held, as a member does that stops."""
        await self.release(list(self._held()), why="shutdown")

    async def release(self, partitions: Sequence[Partition], *, why: str) -> None:
        """Unlock ``partitions`` as far as this member has them; if that fails, the locks expire.

        ``why`` goes to the observer: drained, forced, shutdown or split.
        """
        context = self._context
        if not partitions or not context.settings.locks:
            return
        try:
            with asked(context, "release", partitions, status=why):
                await self._locks.unlock(partitions, context.name)
        except COMMAND_FAILURES:
            return

    def release_soon(self, partition: Partition, *, why: str) -> None:
        """Without waiting for it: it may arrive after what is sent later, and free a later grant of ours."""
        self._context.spawn(self.release([partition], why=why), f"release of {partition.name}")

    def _held(self) -> dict[Partition, ProcessQueue]:
        """The partitions that a renewal or a stop names; ``holds_dropped``: with dropped ones that are still held."""
        holds = self._context.settings.rules.holds_dropped
        return {partition: queue for partition, queue in self._context.queues.items() if holds or not queue.dropped}

    async def _ask(self, kind: str, partitions: Sequence[Partition]) -> list[Partition]:
        with asked(self._context, kind, partitions) as refused:
            granted = await self._locks.try_lock(partitions, self._context.name)
            refused.update((each, REFUSED[kind]) for each in partitions if each not in granted)
        return granted

    def _heard(self, queue: ProcessQueue, *, granted: bool) -> None:
        queue.locked = granted
        if granted:
            queue.locked_ms = self._context.clock.now_ms()
