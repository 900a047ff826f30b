"""Unack handler of version 1: messages whose lease has ended are requeued.

Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue.processUnacks`` and ``atomicProcessUnacks``.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from zonelab.engine.common.periodic import Periodic
from zonelab.engine.common.timings import record, timed
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.results import UnackResult
from zonelab.engine.dyno.scores import requeue_score
from zonelab.engine.dyno.v1.context import Context


async def process_unacks(context: Context) -> UnackResult:
    """Requeue every message of the own shard whose lease has ended; with ``compat`` the first ``unack_batch`` only."""
    return await _process(context, _end_leases)


async def atomic_process_unacks(context: Context) -> UnackResult:
    """Like ``process_unacks``, but each batch is one script, which by default leaves alone what changed meanwhile."""
    return await _process(context, _end_leases_together)


ExpiredLease = tuple[str, bytes]
"""Id, and the end of its lease as the server wrote it."""


@timed("processUnack")
async def _process(
    context: Context, end_leases: Callable[[Context, Sequence[ExpiredLease]], Coroutine[Any, Any, None]]
) -> UnackResult:
    queue_depth = await waiting_total(context)
    record(context, "queueDepth", queue_depth)
    counters, batch = context.counters, context.settings.unack_batch
    requeued, stale = counters.requeued, counters.stale
    handled: dict[str, None] = {}
    while True:
        expired = await _expired(context)
        # The local replica may still list what the quorum has already moved; twice moved would be delivered twice.
        fresh = [(message_id, score) for message_id, score in expired if message_id not in handled]
        handled.update(dict.fromkeys(message_id for message_id, _ in fresh))
        await end_leases(context, fresh)
        if context.settings.compat or len(expired) < batch or not fresh:
            break
    return UnackResult(requeued=counters.requeued - requeued, stale=counters.stale - stale, queue_depth=queue_depth)


async def waiting_total(context: Context) -> int:
    """Messages waiting or delayed in all shards, as the local replica sees them; leased ones are not among them."""
    total = 0
    for shard in context.settings.shards:
        total += await context.local.zcard(context.keys.queue_of(shard))
    return total


async def _expired(context: Context) -> list[ExpiredLease]:
    key = context.keys.unack(context.settings.shard)
    until = context.settings.ended_until(context.clock.now_ms())
    return await context.local.scored_ids_up_to(key, until, limit=context.settings.unack_batch)


async def _end_leases_together(context: Context, expired: Sequence[ExpiredLease]) -> None:
    if not expired:
        return
    compat = context.settings.compat
    ids: list[str | bytes] = [part for lease in expired for part in (lease if compat else lease[:1])]
    arguments = [context.settings.ended_until(context.clock.now_ms()), *ids]
    keys = context.keys_of([context.settings.shard])
    requeued, stale = await context.quorum.eval(context.script("process_unacks"), keys, arguments)
    context.counters.requeued += requeued
    context.counters.stale += stale


async def _end_leases(context: Context, expired: Sequence[ExpiredLease]) -> None:
    for message_id, lease_end in expired:
        await _end_lease(context, message_id, lease_end)


async def _end_lease(context: Context, message_id: str, lease_end: bytes) -> None:
    raw = await context.payload_reads.hget(context.keys.messages, message_id)
    if raw is None:
        await context.quorum.zrem(context.keys.unack(context.settings.shard), message_id)
        context.counters.stale += 1
    elif await _requeue(context, message_id, raw, lease_end):
        context.counters.requeued += 1


async def _requeue(context: Context, message_id: str, raw: bytes, lease_end: bytes) -> bool:
    """Listed before unlisted: a crash in between leaves the id in both sets, and the next run mends that."""
    shard = context.settings.shard
    score = lease_end if context.settings.compat else requeue_score(message_id, raw, lease_end)
    listed = partial(context.quorum.zadd, context.keys.queue_of(shard), score, message_id)
    unleased = partial(context.quorum.zrem, context.keys.unack(shard), message_id)
    if context.settings.has(DynoMechanism.REQUEUE_BEFORE_UNLEASE):
        added, removed = await listed(), await unleased()
    else:
        removed, added = await unleased(), await listed()
    return added > 0 and removed > 0


class UnackHandler(Periodic):
    """Runs ``process_unacks``, or with ``single_ring`` its script, at a fixed rate; an outage does not end it."""

    def __init__(self, context: Context) -> None:
        process = atomic_process_unacks if context.settings.single_ring else process_unacks
        super().__init__(
            lambda: process(context),
            interval_ms=context.settings.unack_interval_ms,
            runtime=context.runtime,
            name=f"unack {context.keys.queue} {context.settings.shard}",
        )
