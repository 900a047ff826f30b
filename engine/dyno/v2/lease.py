"""Leasing a batch: the three pipelines that make waiting messages deliveries.

The order is the safety of the queue: leases are written before the messages leave the waiting set, so a consumer that
dies between two pipelines leaves every id listed in at least one of them.
Source: https://github.com/Netflix/dyno-queues, ``v2/RedisPipelineQueue._pop``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress

from zonelab.engine.common.failures import Effects, operation
from zonelab.engine.dyno.errors import PayloadError
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.v2 import steps
from zonelab.engine.dyno.v2.context import PipelinedContext
from zonelab.engine.message import Delivery


@dataclass(frozen=True, slots=True)
class BatchLease:
    """Result of leasing a batch. ``error``: a stored payload is no message; its lease stays until it ends."""

    deliveries: list[Delivery]
    error: PayloadError | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseTimes:
    """The times of a batch's lease, as in ``zonelab.engine.message.Delivery``."""

    start_ms: int
    leased_ms: int
    end_ms: int


async def lease_batch(context: PipelinedContext, ids: Sequence[str]) -> BatchLease:
    """Lease ``ids`` of the shard, all until the same time. What is not among the deliveries is a miss.

    A miss of the second step leaves its lease in place: to remove it could remove the lease of another consumer that a
    lagging or restarted replica did not show, and so lose a message. It ends by itself.
    """
    keys = context.keys
    start_ms = context.clock.now_ms()
    end_ms = start_ms + context.settings.unack_ms
    with operation(f"pop of {len(ids)} messages") as effects:
        taken = await _take(context, ids, end_ms=end_ms, effects=effects)
        lease = LeaseTimes(start_ms=start_ms, leased_ms=context.clock.now_ms(), end_ms=end_ms)
        raws = await steps.payloads(context.payload_reads, keys, taken)
    found = deliveries_of(keys.shard, zip(taken, raws, strict=True), lease)
    context.counters.misses += len(ids) - len(found.deliveries)
    return found


async def _take(context: PipelinedContext, ids: Sequence[str], *, end_ms: int, effects: Effects) -> list[str]:
    """Write the leases, then remove from the waiting set what was leased; the ids that were in both steps the first."""
    has, quorum, keys = context.settings.has, context.quorum, context.keys
    nx = has(DynoMechanism.LEASE_NX)
    lease_first = has(DynoMechanism.LEASE_BEFORE_REMOVE)
    if lease_first:
        ids = list(compress(ids, await steps.lease(quorum, keys, ids, end_ms=end_ms, nx=nx)))
        effects.count += len(ids)
    removed = await steps.unlist(quorum, keys, ids)
    taken = list(compress(ids, removed)) if has(DynoMechanism.REMOVE_CHECK) else list(ids)
    if not lease_first:
        effects.count += len(taken)
        await steps.lease(quorum, keys, taken, end_ms=end_ms, nx=nx)
    return taken


def deliveries_of(shard: str, taken: Iterable[tuple[str, bytes | None]], lease: LeaseTimes) -> BatchLease:
    """Return the deliveries of the ids ``taken``, each given with its JSON; ids without JSON are left out."""
    deliveries, error = [], None
    for message_id, raw in taken:
        if raw is None:
            continue
        try:
            message = replace(decode(raw, message_id=message_id), shard=shard)
        except PayloadError as failure:
            error = failure
            continue
        deliveries.append(
            Delivery(
                message=message,
                shard=shard,
                lease_start_ms=lease.start_ms,
                leased_ms=lease.leased_ms,
                lease_end_ms=lease.end_ms,
            )
        )
    return BatchLease(deliveries, error)
