"""Verdict on a queue that a test has used: faults end, the queue is drained, then it is judged as a run is."""

from collections.abc import Iterable, Sequence

from zonelab._face.host import Host, SharedQueue
from zonelab._face.ordered import GroupMembership
from zonelab._face.queue import DelayQueue
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.cluster.zone import ClusterError
from zonelab.engine.fifo.consumer.listener import BatchContext, BatchMessage, ConsumeStatus
from zonelab.engine.ports import PortError, ServerError
from zonelab.scenarios.queues.under_test import is_empty
from zonelab.scenarios.run_phases import SETTLE_BOUND_S
from zonelab.scenarios.tasks import until_quiet

_BATCH = 20
_WAIT_MS = 100


async def verdict_of(host: Host, name: str | None, *, drain_s: float) -> Verdict:
    """Return the verdict on the queue ``name``; errors are those of ``zonelab.testing.Cluster.verdict``."""
    queue = _named(host, name)
    if queue.recording is None:
        raise ClusterError(f"queue {queue.name!r} has no history; accepted: queues opened on a cluster of a test")
    for user in list(queue.users):
        await user.close()
    await host.heal()
    runtime = host.testbed.runtime
    begin_ns = runtime.now_ns()
    drained = await _drained(queue, host.testbed.zones, deadline_ns=begin_ns + round(drain_s * 1e9))
    await queue.close()
    if host.failed.error is not None:
        raise host.failed.error
    await _settled(host)
    return await queue.recording.verdict(drained=drained, drain_begin_ns=begin_ns)


def _named(host: Host, name: str | None) -> SharedQueue:
    there = ", ".join(host.queues) or "none"
    if name is None and len(host.queues) == 1:
        return next(iter(host.queues.values()))
    if name is None or name not in host.queues:
        raise ClusterError(f"verdict: got queue {name!r}; accepted: one that was opened on this cluster ({there})")
    return host.queues[name]


async def _drained(queue: SharedQueue, zones: Iterable[str], *, deadline_ns: int) -> bool:
    """Consume what is left in every zone. Returns False if something is left at the deadline."""
    if queue.scenario.has_groups:
        for zone in zones:
            await GroupMembership(queue, zone, _done).start()
        return await queue.until_empty(deadline_ns=deadline_ns)
    consumers = [DelayQueue(queue, zone) for zone in zones]
    for consumer in consumers:
        await consumer.start()

    async def is_quiet() -> bool:
        if await is_empty(queue.adapter):
            return True
        for consumer in consumers:
            await _consume(consumer)
        return False

    return await until_quiet(is_quiet, runtime=queue.runtime, deadline_ns=deadline_ns)


async def _consume(consumer: DelayQueue) -> None:
    try:
        for delivery in await consumer.pop(_BATCH, wait_ms=_WAIT_MS):
            await consumer.ack(delivery)
    except (PortError, ServerError):
        return  # the history has it; coordinators may still reconnect


async def _done(delivered: Sequence[BatchMessage], handling: BatchContext) -> ConsumeStatus:
    return ConsumeStatus.SUCCESS


async def _settled(host: Host) -> None:
    """Wait until replication is at rest, for a bounded time."""
    testbed = host.testbed
    since_ns = testbed.runtime.now_ns()

    async def is_quiet() -> bool:
        return testbed.at_rest(since_ns) and not any(link.in_flight for link in testbed.links.values())

    await until_quiet(is_quiet, runtime=testbed.runtime, deadline_ns=since_ns + round(SETTLE_BOUND_S * 1e9))
