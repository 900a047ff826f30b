"""Queues as a program uses them: ``DelayQueue`` with ``await``, ``BlockingDelayQueue`` without."""

from typing import Any

from zonelab._face.host import PROGRAM
from zonelab._face.opened import OpenedQueue
from zonelab.cluster.zone import ClusterError
from zonelab.engine.message import Delivery, Message
from zonelab.engine.queue import OPTIONAL, Queue
from zonelab.engine.sync import CoroutineRunner, StartableFacade, blocking
from zonelab.scenarios.queues.acknowledging import acknowledge, extend_lease


class DelayQueue(OpenedQueue):
    """Handle on a queue for one program in one zone; ``zonelab.queues.open`` makes it.

    Use it in ``async with``, or call ``start`` and ``close``. Operations raise ``zonelab.Unavailable`` if they had
    certainly no effect, ``zonelab.Indeterminate`` if they may have had one, ``zonelab.ServerError`` if a server
    refused, and ``zonelab.ClusterError`` if the queue is not open or its engine has no such operation.

    Example, in which those of the methods stand in place of the dots::

        async def program(lab: AsyncCluster) -> None:
            async with queues.open("jobs", lab) as queue:
                ...

        with cluster("sim", zones=("a",)) as lab:
            lab.run(program)
    """

    _noun = "queue"

    async def _instance(self) -> Queue:
        return await self._shared.adapter.consumer(self._zone, PROGRAM)

    async def pop(self, count: int = 1, *, wait_ms: int = 0) -> list[Delivery]:
        """Take messages that are due, each with a lease.

        Args:
            count: number of messages, at most.
            wait_ms: time in ms to wait for the first message; 0: do not wait.

        Returns:
            Up to ``count`` deliveries, possibly none. One that is neither acknowledged nor extended before its lease
            ends is delivered again.

        Raises:
            Unavailable: if no message was taken.
            Indeterminate: if some may have been taken; they are delivered again when their leases end.
            ServerError: if a server refused.
            ClusterError: if the queue is not open.

        Example::

            await queue.push(Message(id="1", payload="hello"))
            for delivery in await queue.pop(10, wait_ms=5_000):
                print(delivery.message.payload, await queue.ack(delivery))  # hello True
        """
        queue = self._open()
        if self._recorded:
            return await self._recorded.pop(count, wait_ms=wait_ms)
        return list(await queue.pop(count, wait_ms=wait_ms))

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge a delivery: its lease ends, and its message leaves the queue.

        Args:
            delivery: what ``pop`` returned.

        Returns:
            True if the lease was ended; False if it had ended before, or the message was acknowledged already.

        Raises:
            Unavailable: if the message is in the queue as before.
            Indeterminate: if it may be; acknowledging it again does no harm.
            ServerError: if a server refused.
            ClusterError: if the queue is not open.

        Example::

            await queue.push(Message(id="1"))
            (delivery,) = await queue.pop(1, wait_ms=5_000)
            print(await queue.ack(delivery), await queue.ack(delivery))  # True False
        """
        queue = self._open()
        return await self._recorded.ack(delivery) if self._recorded else await acknowledge(queue, delivery)

    async def extend(self, delivery: Delivery, *, timeout_ms: int) -> bool:
        """Extend the lease of a delivery.

        Args:
            delivery: what ``pop`` returned.
            timeout_ms: the lease ends this many ms from now.

        Returns:
            False if there is no lease to extend.

        Raises:
            Unavailable: as ``ack``.
            Indeterminate: as ``ack``.
            ServerError: as ``ack``.
            ClusterError: if the queue is not open, or its engine cannot do it.

        Example::

            await queue.push(Message(id="1"))
            (delivery,) = await queue.pop(1, wait_ms=5_000)
            print(await queue.extend(delivery, timeout_ms=120_000))  # True
        """
        queue = self._part("extend")
        if self._recorded:
            return await self._recorded.extend(delivery, timeout_ms=timeout_ms)
        return await extend_lease(queue, delivery, timeout_ms=timeout_ms)

    async def give_back(self, delivery: Delivery) -> None:
        """End the lease of a delivery without acknowledging it: its message is due again at once.

        Args:
            delivery: what ``pop`` returned.

        Raises:
            Unavailable: as ``ack``.
            Indeterminate: as ``ack``.
            ServerError: as ``ack``.
            ClusterError: if the queue is not open, or its engine cannot do it, as most cannot.

        Example::

            async with queues.open("others", lab, mode="hardened") as others:
                await others.push(Message(id="1"))
                (delivery,) = await others.pop(1, wait_ms=5_000)
                await others.give_back(delivery)
                print(len(await others.pop(1, wait_ms=5_000)))  # 1
        """
        await self._part("give back").give_back(delivery)

    async def peek(self, count: int = 1) -> list[Message]:
        """Return messages that are due, in order, without leasing them.

        Args:
            count: number of messages, at most.

        Raises:
            Unavailable: if no server answers.
            ServerError: if a server refused.
            ClusterError: if the queue is not open, or its engine cannot do it.

        Example::

            await queue.push([Message(id="low", priority=50), Message(id="high", priority=1)])
            print([message.id for message in await queue.peek(10)])  # ['high', 'low']
        """
        return list(await self._part("peek").peek(count))

    async def get(self, message_id: str) -> Message | None:
        """Return a message by its id, waiting or leased; None if there is none.

        Args:
            message_id: the id.

        Raises:
            Unavailable: if no server answers.
            ServerError: if a server refused.
            ClusterError: if the queue is not open, or its engine cannot do it.

        Example::

            await queue.push(Message(id="1", payload="hello"))
            print(await queue.get("1") is None, await queue.get("2") is None)  # False True
        """
        found: Message | None = await self._part("get").get(message_id)
        return found

    async def remove(self, message_id: str) -> bool:
        """Remove a message by its id, waiting or leased.

        Args:
            message_id: the id.

        Returns:
            False if there was none.

        Raises:
            Unavailable: as ``ack``.
            Indeterminate: as ``ack``.
            ServerError: as ``ack``.
            ClusterError: if the queue is not open, or its engine cannot do it.

        Example::

            await queue.push(Message(id="1"))
            print(await queue.remove("1"), await queue.remove("1"))  # True False
        """
        return bool(await self._part("remove").remove(message_id))

    async def size(self) -> int:
        """Return how many messages wait or are delayed; leased ones are not counted.

        Errors are those of ``peek``.

        Example::

            await queue.push([Message(id="1"), Message(id="2", timeout_ms=60_000)])
            print(await queue.size())  # 2
        """
        return int(await self._part("size").size())

    async def process_unacks(self) -> None:
        """Look for ended leases now, in a queue of your own (``factory``) that requeues only on request.

        Errors are those of ``ack``, and ``ClusterError`` if the engine does so itself, as all that are shipped do.
        """
        await self._part("repair").process_unacks()

    def _part(self, name: str) -> Any:
        queue = self._open()
        if not isinstance(queue, OPTIONAL[name]):
            there = ", ".join(each for each, part in OPTIONAL.items() if isinstance(queue, part)) or "none"
            raise ClusterError(f"engine {self._shared.scenario.queue.engine} has no {name!r}; accepted: {there}")
        return queue


class BlockingDelayQueue(StartableFacade):
    """``DelayQueue`` for programs without an event loop: the same operations, results and errors.

    Use it in ``with``, or call ``start`` and ``close``. Its methods share their docstrings with those of
    ``DelayQueue``: leave ``await`` and ``async`` out.

    Example, in which those of the methods stand in place of the dots::

        with cluster("sim", zones=("a",)) as lab, queues.open("jobs", lab) as queue:
            ...
    """

    def __init__(self, queue: DelayQueue, run: CoroutineRunner) -> None:
        super().__init__(queue, run)
        self.name, self.zone = queue.name, queue.zone

    start = blocking(DelayQueue.start)
    close = blocking(DelayQueue.close)
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
