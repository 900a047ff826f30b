"""An instance of hardened gmq: several topics, popped in strict order; ids that are there are refused.

Each topic is a hardened dyno queue of its own, so its jobs have a record in every zone, a lease is proven by two zones
and an ack carries the token of its lease (docs/hardened.md). What takes gmq several commands takes one script here.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from zonelab.engine.common.failures import COMMAND_FAILURES, operation
from zonelab.engine.common.lifecycle import Startable, close_all
from zonelab.engine.common.polling import pop_when_ready
from zonelab.engine.dyno.hardened import HardenedQueue
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Runtime, ServerError


class HardenedGmqQueue(Startable):
    """``topics``: the queue of each, by its name and in the order of popping; what names none goes to the first.
    Their settings have ``payloads_compared``, as those of the dispatchers have.

    ``at_most_once``: a job without a lease of its own is deleted before it is delivered, as one whose lease is 0.
    Otherwise the lease of a delivery ends by its time. ``HardenedDispatcher`` must run beside it, or what a zone missed
    stays missing.

    Raises: every operation may raise ``Unavailable``, ``Indeterminate`` or ``ServerError``.
    """

    def __init__(
        self,
        topics: Mapping[str, HardenedQueue],
        *,
        runtime: Runtime,
        poll_interval_ms: int = 10,
        at_most_once: bool = False,
    ) -> None:
        if not topics or not all(topics):
            raise ValueError(f"topics must be one or more non-empty names, got {list(topics)!r}")
        if blind := [name for name, queue in topics.items() if not queue.settings.payloads_compared]:
            raise ValueError(f"topics must have queues with payloads_compared, got {', '.join(blind)} without")
        self._topics = dict(topics)
        self._runtime = runtime
        self._poll_ms = poll_interval_ms
        self._at_most_once = at_most_once

    async def start(self) -> None:
        """Serve the shards of the own zone, and those that no instance of their zone serves. Only who pops needs it."""
        for queue in self._topics.values():
            queue.server.start()

    async def close(self) -> None:
        """Leases and jobs stay as they are."""
        await close_all(queue.server for queue in self._topics.values())

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        """Add each of ``messages`` as a job of its topic. Raises ``ServerError`` for an id that the topic knows.

        It knows one for as long as its job is there, and after its ack for ``retention_ms``. Raises ``Indeterminate``
        if others of ``messages`` were added, and ``ValueError``, before any is, for a topic that is not there.
        """
        routed: dict[str, list[Message]] = {}
        for message in messages:
            topic = message.topic or next(iter(self._topics))
            if topic not in self._topics:
                raise ValueError(f"topic must be one of {', '.join(self._topics)}, got {topic!r}")
            routed.setdefault(topic, []).append(message)
        by_id: dict[str, Receipt] = {}
        with operation("push") as effects:
            for topic, batch in routed.items():
                receipts = await self._topics[topic].push_new(batch)
                new = {message_id: receipt for message_id, receipt in receipts.items() if receipt is not None}
                effects.count += len(new)
                if known := [message_id for message_id in receipts if message_id not in new]:
                    raise ServerError(f"job {known[0]!r}: has exist")
                by_id |= new
        return [by_id[message.id] for message in messages]

    async def pop(self, count: int, *, wait_ms: int = 0) -> list[Delivery]:
        """Up to ``count`` due jobs, as soon as there is one, topic by topic; none after ``wait_ms``."""
        take = partial(self._take, count)
        return await pop_when_ready(self._runtime, take, wait_ms=wait_ms, poll_ms=self._poll_ms)

    async def ack(self, delivery: Delivery) -> bool:
        """The work is done: the job is deleted. False if the lease was lost before."""
        holder = next((queue for queue in self._topics.values() if queue.holds(delivery)), None)
        return holder is not None and await holder.ack(delivery)

    async def dead_letters(self, topic: str, count: int) -> list[Message]:
        """Jobs that were delivered ``deliveries_max`` times in vain, the oldest first."""
        return await self._topics[topic].dead_letters(count)

    async def _take(self, count: int) -> list[Delivery]:
        deliveries: list[Delivery] = []
        for queue in self._topics.values():
            try:
                deliveries += await self._take_of(queue, count - len(deliveries))
            except COMMAND_FAILURES:
                if not deliveries:
                    raise
                break
        return deliveries

    async def _take_of(self, queue: HardenedQueue, count: int) -> list[Delivery]:
        deliveries = await queue.pop(count)
        once = [one for one in deliveries if self._is_once(one.message)]
        if not once:
            return deliveries
        settled = await queue.ack_all(once)
        refused = [one.message.id for one, mine in zip(once, settled, strict=True) if not mine]
        return [one for one in deliveries if one.message.id not in refused]

    def _is_once(self, message: Message) -> bool:
        return self._at_most_once if message.lease_ms is None else message.lease_ms == 0
