"""Two queues written on redis-py, for one Redis: on a sorted set with MULTI, and on a list with BLMOVE."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

import redis

from zonelab.cluster.testbed import Testbed
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.scenarios.queues.end_state import state_row
from zonelab.scenarios.queues.under_test import Depth, Site, Wrap, site_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.testing import client

HERE = "support.own_queues.on_redis_py"
ZONE = "a"


class RedisPyQueue:
    """The queue of one program; ``redis`` is a ``redis.asyncio.Redis``."""

    def __init__(self, redis: Any, site: Site, *, name: str, lease_ms: int) -> None:
        self.redis, self.site, self.name, self.lease_ms = redis, site, name, lease_ms

    def delivered(self, message_id: str, start_ms: int) -> list[Delivery]:
        times = {"leased_ms": self.site.clock.now_ms(), "lease_end_ms": start_ms + self.lease_ms}
        return [Delivery(message=Message(id=message_id), shard=ZONE, lease_start_ms=start_ms, **times)]

    def receipts(self, messages: Sequence[Message]) -> list[Receipt]:
        now_ms = self.site.clock.now_ms()
        return [Receipt(id=each.id, shard=ZONE, due_ms=now_ms + each.timeout_ms) for each in messages]

    async def close(self) -> None:
        """Nothing works in the background."""


class MultiQueue(RedisPyQueue):
    """Members of ``jobs`` by the time from which they may be delivered, which a lease puts off."""

    watched = ("jobs",)

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        receipts = self.receipts(messages)
        await self.redis.zadd("jobs", {each.id: each.due_ms for each in receipts})
        return receipts

    async def pop(self, count: int, /, *, wait_ms: int) -> list[Delivery]:
        now_ms = self.site.clock.now_ms()
        async with self.redis.pipeline() as pipe:
            await pipe.watch(*self.watched)
            due = await pipe.zrangebyscore("jobs", 0, now_ms, start=0, num=1)
            if due:
                pipe.multi()
                pipe.zadd("jobs", {due[0]: now_ms + self.lease_ms + 1})
                try:
                    await pipe.execute()
                    return self.delivered(due[0], now_ms)
                except redis.WatchError:
                    return []
        await self.site.runtime.sleep(wait_ms * 1_000_000)
        return []

    async def ack(self, delivery: Delivery, /) -> bool:
        async with self.redis.pipeline() as pipe:
            while True:
                await pipe.watch("jobs")
                until_ms = await pipe.zscore("jobs", delivery.message.id)
                if until_ms != delivery.lease_end_ms + 1:
                    return False
                pipe.multi()
                pipe.zrem("jobs", delivery.message.id)
                try:
                    return await pipe.execute() == [1]
                except redis.WatchError:
                    continue


class WatchesNothing(MultiQueue):
    watched = ("another",)


class MovedListQueue(RedisPyQueue):
    """Ids move from ``jobs`` to ``taken``, where a claim with an end keeps others from them."""

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        await self.redis.rpush("jobs", *(each.id for each in messages))
        return self.receipts(messages)

    async def pop(self, count: int, /, *, wait_ms: int) -> list[Delivery]:
        for message_id in await self.redis.lrange("taken", 0, -1):
            if claimed := await self.claim(message_id):
                return claimed
        message_id = await self.take(wait_ms / 1000)
        return [] if message_id is None else await self.claim(message_id)

    async def take(self, wait_s: float) -> str | None:
        taken: str | None = await self.redis.blmove("jobs", "taken", wait_s)
        return taken

    async def claim(self, message_id: str) -> list[Delivery]:
        start_ms = self.site.clock.now_ms()
        if not await self.redis.set(f"claim:{message_id}", self.name, nx=True, px=self.lease_ms + 1):
            return []
        if await self.redis.lpos("taken", message_id) is None:
            await self.redis.delete(f"claim:{message_id}")
            return []
        return self.delivered(message_id, start_ms)

    async def ack(self, delivery: Delivery, /) -> bool:
        claim = f"claim:{delivery.message.id}"
        async with self.redis.pipeline() as pipe:
            await pipe.watch(claim)
            if await pipe.get(claim) != self.name:
                return False
            pipe.multi()
            pipe.lrem("taken", 1, delivery.message.id).delete(claim)
            try:
                return (await pipe.execute())[0] == 1
            except redis.WatchError:
                return False


class PopsOnly(MovedListQueue):
    async def take(self, wait_s: float) -> str | None:
        popped = await self.redis.blpop("jobs", wait_s)
        return None if popped is None else popped[1]

    async def claim(self, message_id: str) -> list[Delivery]:
        return self.delivered(message_id, self.site.clock.now_ms())

    async def ack(self, delivery: Delivery, /) -> bool:
        return True


class RedisPyQueueUnderTest:
    """The queue in a run."""

    queue_class: ClassVar[type[RedisPyQueue]] = RedisPyQueue

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed, self._scenario, self._made = testbed, scenario, 0
        self.shards = {ZONE: ZONE}

    async def producer(self, zone: str, wrap: Wrap) -> RedisPyQueue:
        setting = self._scenario.setting
        site = site_of(self._testbed, self._scenario.zones, zone, level=setting, wrap=wrap)
        mine = client(self._testbed, zone, level=setting, wrap=wrap, decode_responses=True)
        self._made += 1
        return self.queue_class(mine, site, name=f"{zone}{self._made}", lease_ms=self._scenario.queue.unack_ms)

    consumer = producer

    async def ids(self) -> list[str]:
        direct = self._testbed.direct(ZONE)
        (kind,) = await direct.execute(("TYPE", "jobs"))
        read = ("ZRANGE", "jobs", 0, -1) if kind == b"zset" else ("LRANGE", "jobs", 0, -1)
        found = await direct.execute(read, ("LRANGE", "taken", 0, -1))
        return [one.decode() for part in found if isinstance(part, list) for one in part]

    async def depth(self, shard: str) -> Depth:
        return Depth(len(await self.ids()), leased=0)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, object]]:
        for message_id in await self.ids():
            yield state_row(zone, "queue", message_id, shard=ZONE, serving=True)


class MultiQueueUnderTest(RedisPyQueueUnderTest):
    queue_class = MultiQueue


class WatchesNothingUnderTest(RedisPyQueueUnderTest):
    queue_class = WatchesNothing


class MovedListQueueUnderTest(RedisPyQueueUnderTest):
    queue_class = MovedListQueue


class PopsOnlyUnderTest(RedisPyQueueUnderTest):
    queue_class = PopsOnly
