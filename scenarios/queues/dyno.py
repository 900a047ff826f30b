"""What a run needs of a queue, whatever its engine: instances for producers and consumers, depths and end states."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from cluster.testbed import Testbed
from cluster.votes.vote import Level
from engine.dyno import DynoQueue, DynoSettings, IdHash, Keys, LocalOnly, PayloadError, RoundRobin, ShardingStrategy
from engine.dyno.v2 import PipelinedKeys, PipelinedQueue, PipelinedSettings
from engine.dyno.v2.multi import MultiQueue
from engine.message import Delivery, Message, Receipt
from engine.ports import Connection, Indeterminate
from scenarios.queues.end_state import answer_of, hash_fields, sizes_of, sorted_set, state_row
from scenarios.spec.scenario import Mode, Scenario, Sharding

PREFIX = "zonelab"
NAME = "jobs"

Wrap = Callable[[Connection], Connection]


class ProducerQueue(Protocol):
    async def push(self, messages: Sequence[Message]) -> list[Receipt]: ...
    async def close(self) -> None: ...


class ConsumerQueue(Protocol):
    async def pop(self, count: int, wait_ms: int) -> list[Delivery]: ...
    async def ack(self, message_id: str) -> bool: ...
    async def close(self) -> None: ...


@runtime_checkable
class ExtendsLeases(Protocol):
    """A consumer's queue that moves the ends of its leases while work goes on."""

    def tell_extensions(self, heard: Callable[[str, int], None]) -> None:
        """``heard`` is told of every confirmed one: message id and new end of its lease, in ms of the node's clock."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many messages a shard lists: waiting or delayed, and leased."""

    waiting: int
    leased: int

    @property
    def empty(self) -> bool:
        return self.waiting == 0 and self.leased == 0


class QueueUnderTest(Protocol):
    """One queue on one testbed."""

    @property
    def shards(self) -> Mapping[str, str]:
        """Shard → the zone whose consumers serve it."""

    async def producer(self, zone: str, wrap: Wrap) -> ProducerQueue: ...
    async def consumer(self, zone: str, wrap: Wrap) -> ConsumerQueue:
        """A queue instance of its own, as a program of its own would have; all its commands pass through ``wrap``."""

    async def depth(self, shard: str) -> Depth:
        """As the server of the serving zone has it. Raises ``PortError`` if it does not answer."""

    def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Rows of ``analysis.runs.history.FINAL_STATE`` as the server of ``zone`` has them. Raises ``PortError``."""


def queue_under_test(testbed: Testbed, scenario: Scenario) -> QueueUnderTest:
    """The queue that ``scenario.queue`` names."""
    if scenario.queue.mode is Mode.HARDENED:
        from scenarios.queues.hardened import HardenedUnderTest  # it imports this module

        return HardenedUnderTest(testbed, scenario)
    return UNDER_TEST[scenario.queue.engine](testbed, scenario)


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


UNDER_TEST: Mapping[str, Callable[[Testbed, Scenario], QueueUnderTest]] = {
    "dyno": DynoUnderTest,
    "dyno-v2": PipelinedUnderTest,
}


def strategy_of(sharding: Sharding, zone: str) -> ShardingStrategy:
    if sharding is Sharding.ID_HASH:
        return IdHash()
    return LocalOnly(zone) if sharding is Sharding.LOCAL_ONLY else RoundRobin()


class _DynoConsumer:
    def __init__(self, queue: DynoQueue | MultiQueue) -> None:
        self._queue = queue

    async def pop(self, count: int, wait_ms: int) -> list[Delivery]:
        try:
            return await self._queue.pop(count, wait_ms=wait_ms)
        except PayloadError as error:
            # The lease was written and the message is not delivered, so the pop neither worked nor failed cleanly.
            raise Indeterminate(*error.args) from error

    async def ack(self, message_id: str) -> bool:
        return await self._queue.ack(message_id)

    async def close(self) -> None:
        await self._queue.close()
