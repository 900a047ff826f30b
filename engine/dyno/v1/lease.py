"""Leasing candidates: one by one, by the three commands that make a waiting message a delivery, or many by a script.

The order of the three is the safety of the queue: the lease is written before the message leaves the waiting set, so a
consumer that dies between any two commands leaves the id listed in at least one of them.
Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue._pop``, ``popWithMsgIdHelper`` and ``bulkPop``.
"""

from collections.abc import Sequence
from functools import partial

from zonelab.engine.common.failures import Effects, operation
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.message import Delivery
from zonelab.engine.ports import Argument


async def lease(
    context: Context, message_id: str, *, shard: str | None = None, lease_end_ms: int | None = None
) -> Delivery | None:
    """Lease ``message_id`` of ``shard``, by default the own, until ``lease_end_ms``, by default as the settings say.

    None is a miss. A miss of the second step leaves its lease in place: to remove it could remove the lease of another
    consumer that a lagging or restarted replica did not show, and so lose a message. It ends by itself.
    """
    shard = context.settings.shard if shard is None else shard
    start_ms = context.clock.now_ms()
    end_ms = start_ms + context.settings.unack_ms if lease_end_ms is None else lease_end_ms
    with operation(f"pop of {message_id!r}") as effects:
        taken = await _take(context, message_id, shard=shard, end_ms=end_ms, effects=effects)
        leased_ms = context.clock.now_ms()
        raw = await context.payload_reads.hget(context.keys.messages, message_id) if taken else None
    if raw is None:
        context.counters.misses += 1
        return None
    return Delivery(
        message=decode(raw, message_id=message_id),
        shard=shard,
        lease_start_ms=start_ms,
        leased_ms=leased_ms,
        lease_end_ms=end_ms,
    )


async def _take(context: Context, message_id: str, *, shard: str, end_ms: int, effects: Effects) -> bool:
    """Write the lease, then remove the message from the waiting set; false if another consumer was faster at either."""
    has, quorum, queue = context.settings.has, context.quorum, context.keys.queue_of(shard)
    lease = partial(
        quorum.zadd, context.keys.unack(shard), end_ms, message_id, flag="NX" if has(DynoMechanism.LEASE_NX) else None
    )
    if not has(DynoMechanism.LEASE_BEFORE_REMOVE):
        effects.count = await quorum.zrem(queue, message_id) or not has(DynoMechanism.REMOVE_CHECK)
        if effects.count:
            await lease()
        return effects.count > 0
    effects.count = await lease() or not has(DynoMechanism.LEASE_NX)
    removed = effects.count and await quorum.zrem(queue, message_id)
    return removed > 0 or (effects.count > 0 and not has(DynoMechanism.REMOVE_CHECK))


async def lease_chosen(context: Context, message_id: str, *, shard: str) -> Delivery | None:
    """Lease ``message_id`` if it waits in ``shard`` and is due; with ``compat`` also if it is not due yet.

    Unlike ``lease`` it reads the payload first, so an id without payload is not leased. None is a miss.
    """
    raw = None
    if await _eligible(context, context.keys.queue_of(shard), message_id):
        raw = await context.payload_reads.hget(context.keys.messages, message_id)
    if raw is not None:
        start_ms = context.clock.now_ms()
        end_ms = start_ms + context.settings.unack_ms
        with operation(f"pop of {message_id!r}") as effects:
            taken = await _take(context, message_id, shard=shard, end_ms=end_ms, effects=effects)
        if taken:
            return Delivery(
                message=decode(raw, message_id=message_id),
                shard=shard,
                lease_start_ms=start_ms,
                leased_ms=context.clock.now_ms(),
                lease_end_ms=end_ms,
            )
    context.counters.misses += 1
    return None


async def _eligible(context: Context, queue: str, message_id: str) -> bool:
    if context.settings.compat:
        return await context.local.zrank(queue, message_id) is not None
    score = await context.local.zscore(queue, message_id)
    return score is not None and score <= context.settings.due_until(context.clock.now_ms())


async def lease_together(
    context: Context, candidates: Sequence[Argument], *, shards: Sequence[str], count: int
) -> list[Delivery]:
    """Lease up to ``count`` candidates by one script, ``bulk_pop``, which says how they are given."""
    start_ms = context.clock.now_ms()
    end_ms = start_ms + context.settings.unack_ms
    tried, *found = await context.quorum.eval(
        context.script("bulk_pop"),
        context.keys_of(shards),
        [count, context.settings.due_until(start_ms), end_ms, *candidates],
    )
    leased_ms = context.clock.now_ms()
    context.counters.misses += tried - len(found) // 3
    return [
        Delivery(
            message=decode(raw, message_id=member.decode()),
            shard=shards[number - 1],
            lease_start_ms=start_ms,
            leased_ms=leased_ms,
            lease_end_ms=end_ms,
        )
        for number, member, raw in zip(found[::3], found[1::3], found[2::3], strict=True)
    ]
