"""The shipped dyno-queues engines as the queue under test: version 1 and its pipelined version 2."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from cluster.testbed import Testbed
from cluster.votes.levels import Level
from engine.dyno import DynoQueue, DynoSettings, IdHash, Keys, LocalOnly, PayloadError, RoundRobin, ShardingStrategy
from engine.dyno.v2 import PipelinedKeys, PipelinedQueue, PipelinedSettings
from engine.dyno.v2.multi import MultiQueue
from engine.message import Delivery
from engine.ports import Connection, Indeterminate
from engine.queue import ConsumerQueue, ProducerQueue
from scenarios.queues.end_state import answer_of, hash_fields, sizes_of, sorted_set, state_row
from scenarios.queues.under_test import Depth, Wrap
from scenarios.spec.scenario import Scenario, Sharding

PREFIX = "zonelab"
NAME = "jobs"


class _ShardPerZone(ABC):
    """dyno-queues with a shard per zone, each served by the zone of its name, as its users deploy it.

    Every consumer has an instance with its own unack handler; producers' instances only push.
    """

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed = testbed
        self._scenario = scenario
        self.shards: Mapping[str, str] = {zone: zone for zone in scenario.zones}

    async def producer(self, zone: str, wrap: Wrap) -> ProducerQueue:
        return self._instance(zone, wrap)

    async def consumer(self, zone: str, wrap: Wrap) -> ConsumerQueue:
        queue = self._instance(zone, wrap)
        await queue.start()
        return _DynoConsumer(queue)

    @abstractmethod
    def _instance(self, zone: str, wrap: Wrap) -> DynoQueue | MultiQueue:
        """What one program of ``zone`` has; ``wrap`` is applied to each of its connections."""


class DynoUnderTest(_ShardPerZone):
    """Version 1: one queue over all shards."""

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        super().__init__(testbed, scenario)
        self._keys = Keys(prefix=PREFIX, queue=NAME)

    async def depth(self, shard: str) -> Depth:
        direct = self._testbed.direct(self.shards[shard])
        replies = await direct.execute(("ZCARD", self._keys.queue_of(shard)), ("ZCARD", self._keys.unack(shard)))
        waiting, leased = (answer_of(reply) for reply in replies)
        return Depth(waiting, leased)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        direct = self._testbed.direct(zone)
        for shard, serving_zone in self.shards.items():
            serving = serving_zone == zone
            for place, key in (("queue", self._keys.queue_of(shard)), ("unack", self._keys.unack(shard))):
                async for member, score in sorted_set(direct, key):
                    yield state_row(zone, place, member, shard=shard, score=score, serving=serving)
        async for field in hash_fields(direct, self._keys.messages):
            yield state_row(zone, "payload", field)

    def _instance(self, zone: str, wrap: Wrap) -> DynoQueue:
        settings = self._scenario.queue
        return DynoQueue(
            NAME,
            runtime=self._testbed.runtime,
            clock=self._testbed.clock(zone),
            quorum=wrap(self._testbed.connection(zone, self._scenario.setting)),
            local=wrap(self._testbed.connection(zone, Level.DC_ONE)),
            settings=DynoSettings(
                prefix=PREFIX,
                shards=tuple(self.shards),
                shard=zone,
                unack_ms=settings.unack_ms,
                unack_interval_ms=settings.unack_interval_ms,
                compat=settings.compat,
            ),
            strategy=strategy_of(settings.sharding, zone),
        )


class PipelinedUnderTest(_ShardPerZone):
    """Version 2: in every zone a multi-shard queue over the shards of all zones, of which it serves its own."""

    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        super().__init__(testbed, scenario)
        self._keys = {shard: PipelinedKeys(prefix=PREFIX, queue=NAME, shard=shard) for shard in self.shards}

    async def depth(self, shard: str) -> Depth:
        keys = self._keys[shard]
        direct = self._testbed.direct(self.shards[shard])
        waiting, *leased = await sizes_of(direct, [("ZCARD", key) for key in (keys.waiting, *keys.leases)])
        return Depth(waiting, sum(leased))

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        direct = self._testbed.direct(zone)
        for shard, serving_zone in self.shards.items():
            keys, serving = self._keys[shard], serving_zone == zone
            places = [("queue", keys.waiting), *(("unack", key) for key in keys.leases)]
            sizes = await sizes_of(direct, [("ZCARD", key) for _, key in places])
            for (place, key), size in zip(places, sizes, strict=True):
                if size:
                    async for member, score in sorted_set(direct, key):
                        yield state_row(zone, place, member, shard=shard, score=score, serving=serving)
            sizes = await sizes_of(direct, [("HLEN", key) for key in keys.payloads])
            for key, size in zip(keys.payloads, sizes, strict=True):
                if size:
                    async for field in hash_fields(direct, key):
                        yield state_row(zone, "payload", field)

    def _instance(self, zone: str, wrap: Wrap) -> MultiQueue:
        quorum = wrap(self._testbed.connection(zone, self._scenario.setting))
        local = wrap(self._testbed.connection(zone, Level.DC_ONE))
        queues = {shard: self._shard_queue(shard, zone, quorum, local) for shard in self.shards}
        strategy = strategy_of(self._scenario.queue.sharding, zone)
        return MultiQueue(NAME, shard=zone, queues=queues, strategy=strategy)

    def _shard_queue(self, shard: str, zone: str, quorum: Connection, local: Connection) -> PipelinedQueue:
        settings = self._scenario.queue
        return PipelinedQueue(
            NAME,
            runtime=self._testbed.runtime,
            clock=self._testbed.clock(zone),
            quorum=quorum,
            local=local,
            settings=PipelinedSettings(
                prefix=PREFIX,
                shard=shard,
                unack_ms=settings.unack_ms,
                unack_interval_ms=settings.unack_interval_ms,
                compat=settings.compat,
            ),
        )


def strategy_of(sharding: Sharding, zone: str) -> ShardingStrategy:
    if sharding is Sharding.ID_HASH:
        return IdHash()
    return LocalOnly(zone) if sharding is Sharding.LOCAL_ONLY else RoundRobin()


class _DynoConsumer:
    def __init__(self, queue: DynoQueue | MultiQueue) -> None:
        self._queue = queue

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        try:
            return await self._queue.pop(count, wait_ms=wait_ms)
        except PayloadError as error:
            # The lease was written and the message is not delivered, so the pop neither worked nor failed cleanly.
            raise Indeterminate(*error.args) from error

    async def ack(self, message_id: str) -> bool:
        return await self._queue.ack(message_id)

    async def close(self) -> None:
        await self._queue.close()
