"""How a pop finds its candidates: the default way, and the original's with its defects."""

from collections import deque
from typing import Protocol

from engine.dyno.context import Context
from engine.dyno.errors import COMMAND_FAILURES, PayloadError
from engine.dyno.lease import lease
from engine.dyno.scores import eligible_until
from engine.message import Delivery

NS_PER_MS = 1_000_000


class Popper(Protocol):
    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]: ...


class FreshPopper:
    """Reads the head of the waiting set anew for every pop and for every round of waiting.

    Nothing read is kept for a later pop, so a message whose due time moved on is not delivered early. Ids that a
    concurrent pop of the same object is leasing are left to it, and misses are replaced within the call.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._claimed: dict[str, None] = {}

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        """Up to ``count`` deliveries: at once when so many are due, otherwise what is due after ``wait_ms``.

        Nothing is leased while waiting. If other consumers take all that was due, the wait goes on.
        """
        runtime = self._context.runtime
        deadline_ns = runtime.now_ns() + wait_ms * NS_PER_MS
        while True:
            last_round = runtime.now_ns() >= deadline_ns
            candidates = await self._due(count)
            if last_round or len(candidates) >= count:
                deliveries = await self._lease_up_to(count, candidates)
                if deliveries or last_round:
                    return deliveries
            pause_ns = self._context.settings.pop_poll_ms * NS_PER_MS
            await runtime.sleep(max(0, min(pause_ns, deadline_ns - runtime.now_ns())))

    async def _due(self, count: int) -> list[str]:
        """The first ``count`` due ids that no pop of this object is leasing, or as many as there are."""
        context = self._context
        key = context.keys.queue_of(context.settings.shard)
        while True:
            limit = count + len(self._claimed)
            ids = await context.local.ids_up_to(key, eligible_until(context.clock.now_ms()), limit=limit)
            free = [message_id for message_id in ids if message_id not in self._claimed]
            # Fewer free ones on a full page: another pop claimed some of them during the read, and more may follow.
            if len(free) >= count or len(ids) < limit:
                return free[:count]

    async def _lease_up_to(self, count: int, candidates: list[str]) -> list[Delivery]:
        """Lease ``candidates``, then others that are due in place of the misses.

        An error ends the call; leases already taken are valid and are returned, it is raised only if there is none.
        """
        deliveries: list[Delivery] = []
        claims: list[str] = []
        try:
            while candidates:
                self._claimed.update(dict.fromkeys(candidates))
                claims += candidates
                await self._lease_each(candidates, count, deliveries)
                missing = count - len(deliveries)
                misses = len(claims) - len(deliveries)
                candidates = await self._due(missing + misses) if missing else []
        except (*COMMAND_FAILURES, PayloadError):
            if not deliveries:
                raise
            self._context.counters.curtailed_pops += 1
        finally:
            for message_id in claims:
                del self._claimed[message_id]
        return deliveries

    async def _lease_each(self, candidates: list[str], count: int, deliveries: list[Delivery]) -> None:
        for message_id in candidates:
            if len(deliveries) == count:
                return
            delivery = await lease(self._context, message_id)
            if delivery is not None:
                deliveries.append(delivery)


class OriginalPopper:
    """The original's prefetch: one list of ids and one demand counter, shared by all pops of the object.

    Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue.pop``, ``prefetchIds`` and ``_pop``. Its defects
    are kept: an empty read resets the demand of everybody (issue 58), the same ids are read again and again (issue 84),
    ids left over are delivered whatever became of their due time, one lease end serves the whole batch, and an error
    drops the messages leased before it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.prefetched: deque[str] = deque()
        self.demand = 0

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        runtime = self._context.runtime
        deadline_ns = runtime.now_ns() + wait_ms * NS_PER_MS
        self.demand += count
        await self._prefetch()
        while len(self.prefetched) < count and runtime.now_ns() < deadline_ns:
            await runtime.sleep(self._context.settings.pop_poll_ms * NS_PER_MS)
            await self._prefetch()
        return await self._lease_up_to(count)

    async def _prefetch(self) -> None:
        if self.demand < 1:
            self.demand = 0
            return
        context = self._context
        key = context.keys.queue_of(context.settings.shard)
        until = eligible_until(context.clock.now_ms())
        ids = await context.local.ids_up_to(key, until, limit=self.demand)
        self.prefetched.extend(ids)
        self.demand = max(0, self.demand - len(ids)) if ids else 0

    async def _lease_up_to(self, count: int) -> list[Delivery]:
        lease_end_ms = self._context.clock.now_ms() + self._context.settings.unack_ms
        deliveries: list[Delivery] = []
        while len(deliveries) < count and self.prefetched:
            delivery = await lease(self._context, self.prefetched.popleft(), lease_end_ms=lease_end_ms)
            if delivery is not None:
                deliveries.append(delivery)
        return deliveries
