"""Bringing ended leases of one shard back to its waiting set.

Source: https://github.com/Netflix/dyno-queues, ``v2/RedisPipelineQueue.processUnacks``.
"""

from collections.abc import Iterator, Sequence

from zonelab.engine.common.pipelines import read
from zonelab.engine.dyno.results import UnackResult
from zonelab.engine.dyno.scores import requeue_score
from zonelab.engine.dyno.v2 import steps
from zonelab.engine.dyno.v2.context import PipelinedContext
from zonelab.engine.dyno.v2.keys import BUCKETS
from zonelab.engine.dyno.v2.steps import EndedLease

ALL_BUCKETS = range(BUCKETS)


async def waiting_count(context: PipelinedContext) -> int:
    """Messages waiting or delayed in the shard, as the local replica sees them; leased ones are not among them."""
    (count,) = await read(context.local, [("ZCARD", context.keys.waiting)])
    return int(count)


async def process_unacks(context: PipelinedContext) -> UnackResult:
    """Requeue every message of the shard whose lease has ended. All buckets are read in one pipeline.

    Whether a payload is there is put to the vote; whether the lease is still an ended one, every replica asks itself.
    """
    queue_depth = await waiting_count(context)
    counters, limit = context.counters, context.settings.unack_batch
    requeued, stale = counters.requeued, counters.stale
    handled: dict[str, None] = {}
    while True:
        until = context.settings.ended_until(context.clock.now_ms())
        ended = await steps.ended_leases(context.ranges, context.keys, ALL_BUCKETS, until=until, limit=limit)
        # The local replica may still list what the quorum has already moved; twice moved would be delivered twice.
        fresh = [each for bucket in ended for each in bucket if each.message_id not in handled]
        for batch in _slices(fresh, limit):
            handled.update(dict.fromkeys(each.message_id for each in batch))
            await _end_batch(context, batch)
        if not fresh or all(len(bucket) < limit for bucket in ended):
            break
    return UnackResult(requeued=counters.requeued - requeued, stale=counters.stale - stale, queue_depth=queue_depth)


async def original_process_unacks(context: PipelinedContext) -> UnackResult:
    """Requeue as the original does: bucket by bucket, each until a read finds nothing, payloads one round trip each."""
    requeued, stale, depth = context.counters.requeued, context.counters.stale, 0
    for bucket in ALL_BUCKETS:
        while True:
            depth = await waiting_count(context)
            until = context.settings.ended_until(context.clock.now_ms())
            (ended,) = await steps.ended_leases(
                context.ranges, context.keys, [bucket], until=until, limit=context.settings.unack_batch
            )
            if not ended:
                break
            await _requeue(context, [each for each in ended if await _has_payload(context, each)])
    counters = context.counters
    return UnackResult(requeued=counters.requeued - requeued, stale=counters.stale - stale, queue_depth=depth)


async def _has_payload(context: PipelinedContext, ended: EndedLease) -> bool:
    (raw,) = await steps.payloads(context.payload_reads, context.keys, [ended.message_id])
    if raw is None:
        await _drop(context, [ended.message_id])
    return raw is not None


async def _end_batch(context: PipelinedContext, batch: Sequence[EndedLease]) -> None:
    raws = await steps.payloads(context.payload_reads, context.keys, [each.message_id for each in batch])
    await _drop(context, [each.message_id for each, raw in zip(batch, raws, strict=True) if raw is None])
    scored = [
        (each.message_id, requeue_score(each.message_id, raw, each.score))
        for each, raw in zip(batch, raws, strict=True)
        if raw is not None
    ]
    now_ms = context.settings.ended_until(context.clock.now_ms())
    context.counters.requeued += await steps.requeue(context.quorum, context.keys, scored, now_ms=now_ms)


async def _requeue(context: PipelinedContext, batch: Sequence[EndedLease]) -> None:
    scored = [(each.message_id, each.score) for each in batch]
    context.counters.requeued += await steps.requeue_unasked(context.quorum, context.keys, scored)


async def _drop(context: PipelinedContext, ids: Sequence[str]) -> None:
    """Remove leases without payload."""
    await steps.end_leases(context.quorum, context.keys, ids)
    context.counters.stale += len(ids)


def _slices(batch: Sequence[EndedLease], size: int) -> Iterator[Sequence[EndedLease]]:
    for first in range(0, len(batch), size):
        yield batch[first : first + size]
