"""A small queue with leases that know their holder, for one Redis: sound, and with one planted bug each.

It does not look for ended leases by itself: whoever runs it calls ``process_unacks``, or it has a service that does.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Reply
from zonelab.scenarios.queues.end_state import sizes_of, sorted_set, state_row
from zonelab.scenarios.queues.under_test import Depth, Site, Wrap, site_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.properties import QueueMachine

HERE = "support.own_queues.leased"
ZONE = "a"

_POP = """local id = redis.call('ZRANGEBYSCORE', 'jobs', 0, ARGV[1], 'LIMIT', 0, 1)[1]
if not id then return nil end
local token = redis.call('INCR', 'tokens')
redis.call('ZREM', 'jobs', id) redis.call('ZADD', 'leases', ARGV[2], id) redis.call('HSET', 'holders', id, token)
return {id, token}"""
_ACK = """if redis.call('HGET', 'holders', ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HDEL', 'holders', ARGV[1]) return redis.call('ZREM', 'leases', ARGV[1])"""
_EXTEND = """if redis.call('HGET', 'holders', ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZADD', 'leases', ARGV[3], ARGV[1]) return 1"""
_GRANT = "redis.call('ZADD', 'leases', 'XX', ARGV[3], ARGV[1]) return 1"
_FORGET = "return redis.call('HGET', 'holders', ARGV[1]) == ARGV[2] and 1 or 0"
_REPAIR = """for _, id in ipairs(redis.call('ZRANGEBYSCORE', 'leases', 0, ARGV[1])) do
redis.call('ZREM', 'leases', id) redis.call('HDEL', 'holders', id) redis.call('ZADD', 'jobs', ARGV[1], id) end"""


class LeasedQueue:
    """The queue of one program."""

    extension: ClassVar[str] = _EXTEND

    def __init__(self, site: Site, *, lease_ms: int) -> None:
        self._site, self._lease_ms = site, lease_ms
        self._tokens: dict[Delivery, int] = {}

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        due_ms = {message.id: self._site.clock.now_ms() + message.timeout_ms for message in messages}
        await self._site.connection.execute(*(("ZADD", "jobs", due, name) for name, due in due_ms.items()))
        return [Receipt(id=name, shard=ZONE, due_ms=due) for name, due in due_ms.items()]

    async def pop(self, count: int, /, *, wait_ms: int) -> list[Delivery]:
        start_ms = self._site.clock.now_ms()
        popped = await self._run(_POP, start_ms, start_ms + self._lease_ms)
        if not isinstance(popped, list):
            await self._site.runtime.sleep(wait_ms * 1_000_000)
            return []
        name, token = popped
        assert isinstance(name, bytes)
        assert isinstance(token, int)
        times = {"leased_ms": self._site.clock.now_ms(), "lease_end_ms": start_ms + self._lease_ms}
        delivery = Delivery(message=Message(id=name.decode()), shard=ZONE, lease_start_ms=start_ms, **times)
        self._tokens[delivery] = token
        return [delivery]

    async def ack(self, delivery: Delivery, /) -> bool:
        return await self._run(_ACK, delivery.message.id, self._token(delivery)) == 1

    async def set_unack_timeout(self, delivery: Delivery, /, *, timeout_ms: int) -> bool:
        end_ms = self._site.clock.now_ms() + timeout_ms
        return await self._run(self.extension, delivery.message.id, self._token(delivery), end_ms) == 1

    async def start(self) -> None:
        """Nothing works in the background."""

    async def close(self) -> None:
        """Nothing works in the background."""

    def _token(self, delivery: Delivery) -> int:
        """That of the latest delivery of the message: those of earlier ones are over."""
        return max(token for one, token in self._tokens.items() if one.message.id == delivery.message.id)

    async def _run(self, script: str, *arguments: str | int) -> Reply:
        (reply,) = await self._site.connection.execute(("EVAL", script, 0, *arguments))
        return reply


class ToldToRepair(LeasedQueue):
    async def process_unacks(self) -> None:
        await self._run(_REPAIR, self._site.clock.now_ms())


class GrantsWhatHasEnded(ToldToRepair):
    extension = _GRANT


class ForgetsExtensions(ToldToRepair):
    extension = _FORGET


class LeasedMachine(QueueMachine):
    zones, lease_ms = (ZONE,), 30_000
    queue_class: ClassVar[type[LeasedQueue]] = ToldToRepair

    def make_queue(self, site: Site) -> LeasedQueue:
        return self.queue_class(site, lease_ms=self.lease_ms)


class LeasedUnderTest:
    """The queue in a run."""

    queue_class: ClassVar[type[LeasedQueue]] = ToldToRepair

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed, self._scenario = testbed, scenario
        self.shards = {ZONE: ZONE}

    async def producer(self, zone: str, wrap: Wrap) -> LeasedQueue:
        site = site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)
        return self.queue_class(site, lease_ms=self._scenario.queue.unack_ms)

    consumer = producer

    async def depth(self, shard: str) -> Depth:
        waiting, leased = await sizes_of(self._testbed.direct(ZONE), [("ZCARD", "jobs"), ("ZCARD", "leases")])
        return Depth(waiting, leased)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        for place, key in (("queue", "jobs"), ("unack", "leases")):
            async for name, score in sorted_set(self._testbed.direct(zone), key):
                yield state_row(zone, place, name, shard=ZONE, score=score, serving=True)


class GrantsWhatHasEndedUnderTest(LeasedUnderTest):
    queue_class = GrantsWhatHasEnded


class ForgetsExtensionsUnderTest(LeasedUnderTest):
    queue_class = ForgetsExtensions


class Reaper(Startable):
    """Looks for ended leases and ends them, in one step."""

    def __init__(self, site: Site, interval_ms: int) -> None:
        self._site = site
        self._timer = Periodic(self.look, interval_ms=interval_ms, runtime=site.runtime, name="reaper")

    async def start(self) -> None:
        self._timer.start()

    async def close(self) -> None:
        await self._timer.close()

    async def look(self) -> None:
        await self._site.connection.execute(("EVAL", _REPAIR, 0, self._site.clock.now_ms()))


class LooksThenEnds(Reaper):
    """In two: by then the lease may be another one, or over."""

    async def look(self) -> None:
        execute, now_ms = self._site.connection.execute, self._site.clock.now_ms()
        (ids,) = await execute(("HKEYS", "holders"))
        for name in ids if isinstance(ids, list) else ():
            (end_ms,) = await execute(("ZSCORE", "leases", name))  # type: ignore[arg-type]
            if isinstance(end_ms, bytes) and float(end_ms) <= now_ms:
                await execute(("ZREM", "leases", name), ("HDEL", "holders", name), ("ZADD", "jobs", now_ms, name))  # type: ignore[arg-type]


class ReapedUnderTest(LeasedUnderTest):
    """Its ended leases are looked for by a service."""

    queue_class = LeasedQueue
    reaper: ClassVar[type[Reaper]] = Reaper

    @staticmethod
    def services(scenario: Scenario) -> list[tuple[str, str]]:
        return [("reaper", ZONE)]

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        site = site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)
        return self.reaper(site, self._scenario.queue.unack_interval_ms)


class BadlyReapedUnderTest(ReapedUnderTest):
    reaper = LooksThenEnds
