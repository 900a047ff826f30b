"""Leasing one candidate: the three commands that make a waiting message a delivery.

The order is the safety of the queue: the lease is written before the message leaves the waiting set, so a consumer that
dies between any two commands leaves the id listed in at least one of them.
Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue._pop``.
"""

from engine.dyno.codec import decode
from engine.dyno.context import Context
from engine.dyno.errors import operation
from engine.message import Delivery


async def lease(context: Context, message_id: str, *, lease_end_ms: int | None = None) -> Delivery | None:
    """Lease ``message_id`` of the own shard, until ``lease_end_ms`` or for the length that the settings give.

    None is a miss. A miss of the second step leaves its lease in place: to remove it could remove the lease of another
    consumer that a lagging or restarted replica did not show, and so lose a message. It ends by itself.
    """
    shard = context.settings.shard
    start_ms = context.clock.now_ms()
    end_ms = start_ms + context.settings.unack_ms if lease_end_ms is None else lease_end_ms
    with operation(f"pop of {message_id!r}") as effects:
        effects.count = await context.quorum.zadd(context.keys.unack(shard), end_ms, message_id, flag="NX")
        removed = effects.count and await context.quorum.zrem(context.keys.queue_of(shard), message_id)
        leased_ms = context.clock.now_ms()
        raw = await context.quorum.hget(context.keys.messages, message_id) if removed else None
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
