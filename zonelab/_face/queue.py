"""Queues as a program uses them: ``DelayQueue`` with ``await``, ``BlockingDelayQueue`` without."""

from typing import Any

from zonelab._face.host import PROGRAM
from zonelab._face.opened import Opened
from zonelab.cluster.zone import ClusterError
from zonelab.engine.message import Delivery, Message
from zonelab.engine.queue import OPTIONAL, Queue
from zonelab.engine.sync import Run, StartableFacade, blocking
from zonelab.scenarios.queues.acknowledging import acknowledge, extend_lease


class DelayQueue(Opened):
    """A queue as one program in one zone has it open; ``zonelab.queues.open`` makes it.

    Use it in ``async with``, or call ``start`` and ``close``. Operations raise ``zonelab.Unavailable`` if they had
    certainly no effect, ``zonelab.Indeterminate`` if nobody knows, ``zonelab.ServerError`` if a server refused, and
    ``zonelab.ClusterError`` if the queue is not open or its engine has no such operation.
    """

    _noun = "queue"

    async def _instance(self) -> Queue:
        return await self._shared.adapter.consumer(self._zone, PROGRAM)

    async def pop(self, count: int = 1, *, wait_ms: int = 0) -> list[Delivery]:
        """Take up to ``count`` messages that are due, each with a lease; wait up to ``wait_ms`` for the first.

        Returns no more than there are, so possibly none.
        """
        queue = self._open()
        if self._recorded:
            return await self._recorded.pop(count, wait_ms=wait_ms)
        return list(await queue.pop(count, wait_ms=wait_ms))

    async def ack(self, delivery: Delivery) -> bool:
        """End the work on ``delivery``, which takes its message out of the queue.

        Returns False if there is no lease to end: it had ended, or somebody has acknowledged it already.
        """
        queue = self._open()
        return await self._recorded.ack(delivery) if self._recorded else await acknowledge(queue, delivery)

    async def extend(self, delivery: Delivery, *, timeout_ms: int) -> bool:
        """Let the lease of ``delivery`` end ``timeout_ms`` from now. Returns False if there is no lease."""
        queue = self._part("extend")
        if self._recorded:
            return await self._recorded.extend(delivery, timeout_ms=timeout_ms)
        return await extend_lease(queue, delivery, timeout_ms=timeout_ms)

    async def give_back(self, delivery: Delivery) -> None:
        """End the lease of ``delivery`` without its work being done, so that another program can have it at once."""
        await self._part("give back").give_back(delivery)

    async def peek(self, count: int = 1) -> list[Message]:
        """Return up to ``count`` messages that are due, in order, without leasing them."""
        return list(await self._part("peek").peek(count))

    async def get(self, message_id: str) -> Message | None:
        """Return the message of this id, waiting or leased; None if there is none."""
        found: Message | None = await self._part("get").get(message_id)
        return found

    async def remove(self, message_id: str) -> bool:
        """Take the message of this id out, waiting or leased. Returns False if there was none."""
        return bool(await self._part("remove").remove(message_id))

    async def size(self) -> int:
        """Return how many messages wait or are delayed; leased ones are not counted."""
        return int(await self._part("size").size())

    async def process_unacks(self) -> None:
        """Look for ended leases now, in engines that have to be told."""
        await self._part("repair").process_unacks()

    def _part(self, name: str) -> Any:
        queue = self._open()
        if not isinstance(queue, OPTIONAL[name]):
            there = ", ".join(each for each, part in OPTIONAL.items() if isinstance(queue, part)) or "none"
            raise ClusterError(f"engine {self._shared.scenario.queue.engine} has no {name!r}; accepted: {there}")
        return queue


class BlockingDelayQueue(StartableFacade):
    """``DelayQueue`` for programs without an event loop: the same operations, results and errors.

    Use it in ``with``, or call ``start`` and ``close``.
    """

    def __init__(self, queue: DelayQueue, run: Run) -> None:
        super().__init__(queue, run)
        self.name, self.zone = queue.name, queue.zone

    push = blocking(DelayQueue.push)
    pop = blocking(DelayQueue.pop)
    ack = blocking(DelayQueue.ack)
    extend = blocking(DelayQueue.extend)
    give_back = blocking(DelayQueue.give_back)
    peek = blocking(DelayQueue.peek)
    get = blocking(DelayQueue.get)
    remove = blocking(DelayQueue.remove)
    size = blocking(DelayQueue.size)
    process_unacks = blocking(DelayQueue.process_unacks)
