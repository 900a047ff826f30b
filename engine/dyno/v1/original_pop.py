"""Candidates of a pop as the original finds them, with all its defects; for ``compat``.

Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue.pop``, ``prefetchIds``, ``prefetchIdsAllShards``,
``_pop`` and the bulk pops.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from zonelab.engine.common.timings import measured
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.dyno.v1.lease import lease, lease_together
from zonelab.engine.message import Delivery
from zonelab.engine.units import NS_PER_MS


class Prefetch:
    """Ids read and not popped yet, and a demand counter, shared by all pops of the object over these shards.

    Its defects: the same ids are read again and again (issue 84), what is left over is delivered whatever became of its
    due time, and, with ``forgets_demand``, an empty read resets the demand of everybody (issue 58).
    """

    def __init__(self, context: Context, shards: Sequence[str], *, forgets_demand: bool) -> None:
        self._context = context
        self._forgets_demand = forgets_demand
        self.lines: dict[str, deque[str]] = {shard: deque() for shard in shards}
        """Ids by shard, in the order in which the shards are read."""
        self.demand = 0

    def __len__(self) -> int:
        return sum(map(len, self.lines.values()))

    async def refill(self) -> None:
        """Read so many ids ahead as pops have asked for, shard by shard."""
        context = self._context
        for shard, line in self.lines.items():
            if self.demand < 1:
                self.demand = 0
                return
            until = context.settings.due_until(context.clock.now_ms())
            read = context.local.ids_up_to(context.keys.queue_of(shard), until, limit=self.demand)
            ids = await measured(context, "prefetch", read, messages=self.demand)
            line.extend(ids)
            self.demand = max(0, self.demand - len(ids)) if ids or not self._forgets_demand else 0


Take = Callable[[Context, Prefetch, int], Coroutine[Any, Any, list[Delivery]]]


class V1OriginalPopper:
    """Reads ahead into ``prefetch``, waits until it holds enough, and lets ``take`` make deliveries of it."""

    def __init__(self, context: Context, prefetch: Prefetch, take: Take) -> None:
        self._context = context
        self._take = take
        self.prefetch = prefetch

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        runtime, prefetch = self._context.runtime, self.prefetch
        deadline_ns = runtime.now_ns() + wait_ms * NS_PER_MS
        prefetch.demand += count
        await prefetch.refill()
        while len(prefetch) < count and runtime.now_ns() < deadline_ns:
            await runtime.sleep(self._context.settings.pop_poll_ms * NS_PER_MS)
            await prefetch.refill()
        return await self._take(self._context, prefetch, count)


async def take_one_by_one(context: Context, prefetch: Prefetch, count: int) -> list[Delivery]:
    """One lease end serves all of a shard, and an error drops what was leased before it."""
    deliveries: list[Delivery] = []
    for shard, line in prefetch.lines.items():
        lease_end_ms = context.clock.now_ms() + context.settings.unack_ms
        while len(deliveries) < count and line:
            delivery = await lease(context, line.popleft(), shard=shard, lease_end_ms=lease_end_ms)
            if delivery is not None:
                deliveries.append(delivery)
    return deliveries


async def take_together(context: Context, prefetch: Prefetch, count: int) -> list[Delivery]:
    """One script for whatever was read, even if that is nothing; the shards are asked in the order of the settings."""
    shards = [shard for shard in context.settings.shards if shard in prefetch.lines]
    ids: list[str] = []
    for shard in shards:
        line = prefetch.lines[shard]
        while len(ids) < count and line:
            ids.append(line.popleft())
    return await lease_together(context, ids, shards=shards, count=count)
