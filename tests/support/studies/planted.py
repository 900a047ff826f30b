"""Queues with one planted bug each: what a hunt must find and a shrinker must make small."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from zonelab.analysis.message_classes import MessageClass
from zonelab.engine.common.failures import Effects, operation
from zonelab.engine.dyno import DynoQueue
from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.results import UnackResult
from zonelab.engine.dyno.scores import due_score
from zonelab.engine.dyno.v1.ack import Acks
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.dyno.v1.pop import V1FreshPopper, no_claims
from zonelab.engine.dyno.v1.unack import UnackHandler
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.dyno import DynoUnderTest
from zonelab.scenarios.queues.under_test import Wrap


class Planted(DynoUnderTest):
    """Every queue object is spoilt as ``spoil`` says."""

    def _instance(self, zone: str, wrap: Wrap) -> DynoQueue:
        queue = super()._instance(zone, wrap)
        self.spoil(queue)
        return queue

    def spoil(self, queue: DynoQueue) -> None:
        raise NotImplementedError


class _Idle(UnackHandler):
    def start(self) -> None:
        pass


class UnackHandlerOff(Planted):
    def spoil(self, queue: DynoQueue) -> None:
        queue.unack_handler = _Idle(queue._context)


class ToldToRepair(UnackHandlerOff):
    """Its ended leases come back only when ``process_unacks`` is called, which nothing of its own does."""

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(zone, wrap)


class RepairsNothing(ToldToRepair):
    """``process_unacks`` ends leases, and lists nothing again."""

    def spoil(self, queue: DynoQueue) -> None:
        super().spoil(queue)

        async def process_unacks() -> UnackResult:
            unack, now_ms = queue.keys.unack(queue.settings.shard), queue._clock.now_ms()
            ended = await queue._context.local.scored_ids_up_to(unack, now_ms, limit=100)
            for message_id, _ in ended:
                await queue._quorum.zrem(unack, message_id)
            return UnackResult(requeued=0, stale=0, queue_depth=0)

        queue.process_unacks = process_unacks  # type: ignore[method-assign]


def _popper(context: Context, step: Callable[[Context, str], Awaitable[Delivery | None]]) -> V1FreshPopper:
    """A popper whose leasing is ``step``."""

    async def lease_each(
        context: Context, candidates: Sequence[tuple[str, str]], count: int, deliveries: list[Delivery]
    ) -> None:
        for _, message_id in candidates:
            if len(deliveries) < count:
                delivery = await step(context, message_id)
                deliveries += [] if delivery is None else [delivery]

    return V1FreshPopper(
        context, shards=(context.settings.shard,), claims=no_claims(context), lease_candidates=lease_each
    )


async def _lease_over_a_lease(context: Context, message_id: str) -> Delivery | None:
    """Without NX the reply does not tell whether there was a lease already, and an older one is overwritten."""
    keys, shard, start_ms = context.keys, context.settings.shard, context.clock.now_ms()
    end_ms = start_ms + context.settings.unack_ms
    with operation("pop"):
        await context.quorum.zadd(keys.unack(shard), end_ms, message_id)
        await context.quorum.zrem(keys.queue_of(shard), message_id)
        return await _delivery(context, message_id, start_ms, end_ms)


async def _remove_then_lease(context: Context, message_id: str) -> Delivery | None:
    keys, shard, start_ms = context.keys, context.settings.shard, context.clock.now_ms()
    end_ms = start_ms + context.settings.unack_ms
    with operation("pop") as effects:
        effects.count = await context.quorum.zrem(keys.queue_of(shard), message_id)
        if not effects.count:
            return None
        await context.quorum.zadd(keys.unack(shard), end_ms, message_id, flag="NX")
        return await _delivery(context, message_id, start_ms, end_ms)


async def _delivery(context: Context, message_id: str, start_ms: int, end_ms: int) -> Delivery | None:
    leased_ms = context.clock.now_ms()
    raw = await context.quorum.hget(context.keys.messages, message_id)
    if raw is None:
        return None
    return Delivery(
        message=decode(raw, message_id=message_id),
        shard=context.settings.shard,
        lease_start_ms=start_ms,
        leased_ms=leased_ms,
        lease_end_ms=end_ms,
    )


class LeaseWithoutNx(Planted):
    def spoil(self, queue: DynoQueue) -> None:
        queue._popper = _popper(queue._context, _lease_over_a_lease)


class PopRemovesFirst(Planted):
    def spoil(self, queue: DynoQueue) -> None:
        queue._popper = _popper(queue._context, _remove_then_lease)


class _PayloadFirst(Acks):
    async def _ack_lease(self, message_id: str, effects: Effects) -> bool:
        context = self._context
        effects.count += await context.quorum.hdel(context.keys.messages, message_id)
        for shard in context.settings.shards:
            if await context.quorum.zrem(context.keys.unack(shard), message_id):
                return True
        return False


class AckDeletesPayloadFirst(Planted):
    def spoil(self, queue: DynoQueue) -> None:
        queue._acks = _PayloadFirst(queue._context)


class PushListsFirst(Planted):
    def spoil(self, queue: DynoQueue) -> None:
        async def push_one(message: Message, raw: bytes) -> Receipt:
            shard = queue._strategy.next_shard(queue.settings.shards, message)
            due_ms = queue._clock.now_ms() + message.timeout_ms
            score = due_score(due_ms, priority=message.priority)
            await queue._quorum.zadd(queue.keys.queue_of(shard), score, message.id)
            await queue._quorum.hset(queue.keys.messages, message.id, raw)
            return Receipt(id=message.id, shard=shard, due_ms=due_ms)

        queue._push_one = push_one  # type: ignore[method-assign]


CRASHES = {"faults": [{"kind": "consumer_crash", "zone": "a", "at_s": 0.2, "for_s": 0.3}]}
ALONE = {"consumers": {"per_zone": 1}, "drain": {"bound_s": 10}}

PLANTED: dict[str, tuple[type[Planted], MessageClass, dict[str, Any]]] = {
    "the unack handler is off": (UnackHandlerOff, MessageClass.STUCK, {**ALONE, **CRASHES}),
    "a lease is written without NX": (
        LeaseWithoutNx,
        MessageClass.CONCURRENT,
        {"consumers": {"per_zone": 3, "batch": 4}},
    ),
    "an ack deletes the payload before the lease": (
        AckDeletesPayloadFirst,
        MessageClass.ABANDONED,
        {**ALONE, **CRASHES},
    ),
    "a push lists the id before the payload": (
        PushListsFirst,
        MessageClass.LOST,
        {
            **ALONE,
            "level": "DC_ONE",
            "queue": {"unack_ms": 200, "unack_interval_ms": 50},
            "faults": [{"kind": "pause", "zone": "a", "at_s": 0.2, "for_s": 0.4}],
        },
    ),
    "a pop removes before it leases": (PopRemovesFirst, MessageClass.LOST, {**ALONE, **CRASHES}),
}
"""By name: the queue, the class of which it must be found guilty, and the changes to a small scenario that it takes."""
