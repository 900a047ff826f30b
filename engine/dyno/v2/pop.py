"""Candidates of a pop: the default way, and the original's with its defects."""

from collections.abc import Awaitable, Callable, Sequence

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.mutex import Mutex
from zonelab.engine.common.polling import pop_in_rounds
from zonelab.engine.dyno.v2 import steps
from zonelab.engine.dyno.v2.context import PipelinedContext
from zonelab.engine.dyno.v2.lease import BatchLease, lease_batch
from zonelab.engine.message import Delivery
from zonelab.engine.units import NS_PER_MS

LeaseBatch = Callable[[PipelinedContext, Sequence[str]], Awaitable[BatchLease]]


class V2FreshPopper:
    """Reads the head of the waiting set for every pop and every round of waiting, and leases it in batches.

    Pops of one object run side by side: ids that one of them is leasing are left to it. Misses are replaced within the
    call. Nothing is leased while waiting, so a wait costs no lease time. ``lease``: how a batch is taken.
    """

    def __init__(self, context: PipelinedContext, *, lease: LeaseBatch = lease_batch) -> None:
        self._context = context
        self._lease = lease
        self._claimed: dict[str, None] = {}

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        return await pop_in_rounds(
            self._context.runtime,
            count,
            wait_ms=wait_ms,
            poll_ms=self._context.settings.poll_interval_ms,
            due=self._due,
            lease_up_to=self._lease_up_to,
        )

    async def _due(self, count: int) -> list[str]:
        """The first ``count`` due ids that no pop of this object is leasing, or as many as there are."""
        context = self._context
        while True:
            limit = count + len(self._claimed)
            until = context.settings.due_until(context.clock.now_ms())
            ids = await steps.due_ids(context.ranges, context.keys, until=until, limit=limit)
            free = [message_id for message_id in ids if message_id not in self._claimed]
            # Fewer free ones on a full page: another pop claimed some of them during the read, and more may follow.
            if len(free) >= count or len(ids) < limit:
                return free[:count]

    async def _lease_up_to(self, count: int, candidates: Sequence[str]) -> list[Delivery]:
        """Lease ``candidates``, then others that are due in place of the misses.

        An error ends the call; leases already taken are valid and are returned, it is raised only if there is none.
        """
        deliveries: list[Delivery] = []
        claims: list[str] = []
        error: Exception | None = None
        try:
            while candidates and error is None:
                self._claimed.update(dict.fromkeys(candidates))
                claims += candidates
                leased = await self._lease(self._context, candidates)
                deliveries += leased.deliveries
                error = leased.error
                missing = count - len(deliveries)
                misses = len(claims) - len(deliveries)
                candidates = (await self._due(missing + misses))[:missing] if missing and misses else []
        except COMMAND_FAILURES as failure:
            error = failure
        finally:
            for message_id in claims:
                del self._claimed[message_id]
        if error is not None and not deliveries:
            raise error
        self._context.counters.curtailed_pops += error is not None
        return deliveries


class V2OriginalPopper:
    """The original's pop: one at a time for each object, and every round leases what it finds.

    Source: https://github.com/Netflix/dyno-queues, ``v2/RedisPipelineQueue.pop``. Its defects are kept: leases taken in
    an early round run while the call waits for more; an error drops what was leased before it; an id that is leased
    although it waits is read and missed in every round; and a pop that does not wait looks a second time,
    ``poll_interval_ms`` later, if the first look took less than a millisecond.
    """

    def __init__(self, context: PipelinedContext) -> None:
        self._context = context
        self._one_at_a_time = Mutex(context.runtime)

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        async with self._one_at_a_time:
            return await self._pop(count, wait_ms=wait_ms)

    async def _pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        context, runtime = self._context, self._context.runtime
        deadline_ms = runtime.now_ns() // NS_PER_MS + wait_ms
        deliveries: list[Delivery] = []
        while len(deliveries) < count:
            until, missing = context.settings.due_until(context.clock.now_ms()), count - len(deliveries)
            ids = await steps.due_ids(context.ranges, context.keys, until=until, limit=missing)
            leased = await lease_batch(context, ids)
            if leased.error is not None:
                raise leased.error
            deliveries += leased.deliveries
            if len(leased.deliveries) == count or runtime.now_ns() // NS_PER_MS > deadline_ms:
                break
            await runtime.sleep(context.settings.poll_interval_ms * NS_PER_MS)
        return deliveries
