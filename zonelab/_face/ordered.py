"""Topics of ordered messages: a program pushes, and its listener receives batches."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING

from zonelab._face.host import PROGRAM, SharedQueue
from zonelab._face.opened import OpenedQueue
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.fifo.consumer.listener import BatchContext, BatchMessage, ConsumeStatus
from zonelab.engine.queue import Queue
from zonelab.engine.sync import CoroutineRunner, StartableFacade, blocking
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.queues.under_test import GroupMember, OrderedQueueUnderTest

if TYPE_CHECKING:
    from zonelab.scenarios.clients.listening import PopRecorder

Handler = Callable[[Sequence[BatchMessage], BatchContext], ConsumeStatus | Awaitable[ConsumeStatus | None] | None]
"""A listener, an ordinary function or a coroutine. None it returns counts as ``ConsumeStatus.SUCCESS``."""

_HANDING_NS = 1_000
"""The time to hand a batch over: in simulation, what happens in no time at all has no order for a checker."""


class OrderedQueue(OpenedQueue):
    """Handle on a topic for one program in one zone; ``zonelab.queues.open_ordered`` makes it.

    Use it in ``async with``, or call ``start`` and ``close``. Errors are those of ``DelayQueue``.

    Example, in which those of the methods stand in place of the dots::

        async def program(lab: AsyncCluster) -> None:
            async with queues.open_ordered("orders", lab) as queue:
                ...

        with cluster("sim") as lab:
            lab.run(program)
    """

    _noun = "topic"

    async def _instance(self) -> Queue:
        return await self._shared.adapter.producer(self._zone, PROGRAM)

    def listen(self, handler: Handler) -> "GroupMembership":
        """Return a membership in the topic's consumer group, which lasts as long as a block.

        Args:
            handler: an ordinary function or a coroutine function. It is called with a batch of one partition (a
                sequence of up to ``batch`` of ``open_ordered`` ``BatchMessage`` objects) and a ``BatchContext``, one
                batch of a partition after the other. It returns a ``ConsumeStatus``; None counts as success. After an
                exception or ``ConsumeStatus.SUSPEND`` the same batch is delivered again after a pause, before any
                message that follows it.

        Returns:
            A ``GroupMembership`` for ``async with``, or a ``BlockingGroupMembership`` for ``with``.

        Raises:
            ClusterError: if the topic is not open.

        Example::

            def handle(delivered, handling):
                print(delivered[0].record.body)  # hello

            await queue.push(Message(id="1", key="order-1", payload="hello"))
            async with queue.listen(handle):
                await queue.wait_empty(timeout_s=10)
        """
        self._open()
        return GroupMembership(self._shared, self._zone, handler)

    async def wait_empty(self, *, timeout_s: float) -> bool:
        """Wait until every message of the topic is handled.

        Args:
            timeout_s: seconds to wait, at most.

        Returns:
            False if some message is not handled by then.

        Raises:
            ClusterError: if the topic is not open.

        Example::

            await queue.push(Message(id="1", key="order-1"))
            print(await queue.wait_empty(timeout_s=2))  # False
        """
        self._open()
        return await self._shared.until_empty(deadline_ns=self._shared.runtime.now_ns() + round(timeout_s * 1e9))


class GroupMembership(Startable):
    """Membership in a consumer group, from ``start`` to ``close`` or as long as a block lasts; ``listen`` makes it.

    Example, in which those of the methods stand in place of the dots::

        async def program(lab: AsyncCluster) -> None:
            async with queues.open_ordered("orders", lab) as queue:
                listening = queue.listen(lambda delivered, handling: ConsumeStatus.SUCCESS)
                ...

        with cluster("sim") as lab:
            lab.run(program)
    """

    def __init__(self, shared: SharedQueue, zone: str, handler: Handler) -> None:
        self._shared, self._zone, self._handler = shared, zone, handler
        self._member: GroupMember | None = None
        self._observer: PopRecorder | None = None

    async def start(self) -> None:
        """Join the group: from now on this member is handed its share of the partitions.

        Example::

            await listening.start()
            await queue.push(Message(id="1", key="order-1"))
            print(await queue.wait_empty(timeout_s=10))  # True
            await listening.close()
        """
        adapter, recording = self._shared.adapter, self._shared.recording
        assert isinstance(adapter, OrderedQueueUnderTest), "open_ordered opens ordered queues only"
        process = self._shared.process(self._zone)
        observer = adapter.observer(self._zone)
        if recording is not None:
            counts = adapter.acknowledges(process)
            observer = self._observer = recording.acknowledging(observer, process, self._zone, counts=counts)
        process = f"{self._shared.program}{process}"
        self._member = await adapter.member(self._zone, PROGRAM, name=process, listener=self._listen, observer=observer)
        self._shared.users.append(self)
        await self._member.start()

    async def close(self) -> None:
        """Leave the group: its partitions go to the other members. Does nothing if it is not in the group.

        Example::

            await listening.start()
            await listening.close()
        """
        member, self._member = self._member, None
        if member is not None:
            self._shared.users.remove(self)
            await member.close()

    async def _listen(self, delivered: Sequence[BatchMessage], handling: BatchContext) -> ConsumeStatus:
        if self._observer is not None:
            self._observer.delivered(handling.partition.name, delivered)
        await self._shared.runtime.sleep(_HANDING_NS)
        try:
            outcome = self._handler(delivered, handling)
            if isawaitable(outcome):
                outcome = await outcome
        except Exception:
            LOGGER.exception("a listener of %s failed; what it was handed comes again", self._shared.name)
            return ConsumeStatus.SUSPEND
        return ConsumeStatus.SUCCESS if outcome is None else outcome


class BlockingOrderedQueue(StartableFacade):
    """``OrderedQueue`` for programs without an event loop: the same operations, results and errors.

    On servers (``in_threads``) handlers are called in threads, and may use the topic; in simulation they must not.

    Example, in which those of the methods stand in place of the dots::

        with cluster("sim") as lab, queues.open_ordered("orders", lab) as queue:
            ...
    """

    def __init__(self, queue: OrderedQueue, run: CoroutineRunner, *, in_threads: bool) -> None:
        super().__init__(queue, run)
        self._ordered, self._in_threads = queue, in_threads
        self.name, self.zone = queue.name, queue.zone

    start = blocking(OrderedQueue.start)
    close = blocking(OrderedQueue.close)
    push = blocking(OrderedQueue.push)
    wait_empty = blocking(OrderedQueue.wait_empty)

    def listen(self, handler: Handler) -> "BlockingGroupMembership":
        called = _in_thread(handler) if self._in_threads else handler
        return BlockingGroupMembership(self._ordered.listen(called), self._run)

    listen.__doc__ = OrderedQueue.listen.__doc__


class BlockingGroupMembership(StartableFacade):
    """``GroupMembership`` for programs without an event loop.

    Example, in which those of the methods stand in place of the dots::

        with cluster("sim") as lab, queues.open_ordered("orders", lab) as queue:
            listening = queue.listen(lambda delivered, handling: ConsumeStatus.SUCCESS)
            ...
    """

    start = blocking(GroupMembership.start)
    close = blocking(GroupMembership.close)


def _in_thread(handler: Handler) -> Handler:
    """Return ``handler`` as called in a thread, where it blocks no event loop and may use the topic itself."""

    async def called(delivered: Sequence[BatchMessage], handling: BatchContext) -> ConsumeStatus | None:
        outcome = await asyncio.to_thread(handler, delivered, handling)
        return await outcome if isawaitable(outcome) else outcome

    return called
