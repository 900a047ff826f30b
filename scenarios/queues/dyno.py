"""The shipped dyno-queues engines as the queue under test: version 1 and its pipelined version 2."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from zonelab.cluster.testbed import Testbed
from zonelab.engine.dyno import (
    DynoQueue,
    DynoSettings,
    IdHash,
    LocalOnly,
    PayloadError,
    QueueKeys,
    RoundRobin,
    ShardingStrategy,
)
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.v2 import PipelinedKeys, PipelinedQueue, PipelinedSettings
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.message import Delivery
from zonelab.engine.ports import Connection, Indeterminate
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.end_state import answer_of, hash_fields, sizes_of, sorted_set, state_row
from zonelab.scenarios.queues.places import Place, PlaceKind
from zonelab.scenarios.queues.under_test import OF_A_RUN, Depth, QueueNames, Site, Wrap, site_of
from zonelab.scenarios.spec.queue_settings import QueueSettings, ShardedSettings, Sharding
from zonelab.scenarios.spec.scenario import Scenario

PREFIX = "zonelab"
NAME = "jobs"


class _ShardPerZone(ABC):
    """dyno-queues with a shard per zone, each served by the zone of its name, as its users deploy it.

    Every consumer has an instance with its own unack handler; producers' instances only push. ``without``: mechanisms
    that are off.
    """

    extends = True

    def __init__(
        self,
        testbed: Testbed,
        scenario: Scenario,
        naming: QueueNames = OF_A_RUN,
        *,
        without: Collection[DynoMechanism] = (),
    ) -> None:
        self._testbed = testbed
        self._scenario = scenario
        self._without = tuple(without)
        self._name, self._prefix = naming.name or NAME, naming.prefix or PREFIX
        self.shards: Mapping[str, str] = {zone: zone for zone in scenario.zones}

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(zone, wrap)

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = self._instance(zone, wrap)
        await queue.start()
        return _ConsumerQueue(queue)

    def _instance(self, zone: str, wrap: Wrap) -> DynoQueue | MultiQueue:
        """Return what one program of ``zone`` has; ``wrap`` is applied to each of its connections."""
        settings = self._scenario.queue.of(ShardedSettings)
        return self._made(
            site_of(self._testbed, tuple(self.shards), zone, level=self._scenario.setting, wrap=wrap),
            name=self._name,
            prefix=self._prefix,
            strategy=strategy_of(settings.sharding, zone),
            unack_ms=settings.unack_ms,
            unack_interval_ms=settings.unack_interval_ms,
            compat=settings.compat,
            without=self._without,
        )

    @abstractmethod
    def _made(self, site: Site, **settings: Any) -> DynoQueue | MultiQueue:
        """Make an instance for a program at ``site``."""


class DynoUnderTest(_ShardPerZone):
    """Version 1: one queue over all shards."""

    @cached_property
    def _keys(self) -> QueueKeys:
        return QueueKeys(prefix=self._prefix, queue=self._name)

    async def depth(self, shard: str) -> Depth:
        direct = self._testbed.direct(self.shards[shard])
        replies = await direct.execute(("ZCARD", self._keys.queue_of(shard)), ("ZCARD", self._keys.unack(shard)))
        waiting, leased = (answer_of(reply) for reply in replies)
        return Depth(waiting, leased)

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]:
        keys = QueueKeys(prefix=prefix or PREFIX, queue=name or NAME)
        return [
            *(waiting_or_leased("queue", keys.queue_of(zone), zone) for zone in zones),
            *(waiting_or_leased("unack", keys.unack(zone), zone) for zone in zones),
            Place(holds="payload", key=keys.messages, kind=PlaceKind.HASH),
        ]

    def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        return v1_rows(self._testbed.direct(zone), self._keys, self.shards, zone=zone)

    def _made(self, site: Site, **settings: Any) -> DynoQueue:
        return v1_queue(site, **settings)


class PipelinedUnderTest(_ShardPerZone):
    """Version 2: in every zone a multi-shard queue over the shards of all zones, of which it serves its own."""

    @cached_property
    def _keys(self) -> dict[str, PipelinedKeys]:
        return v2_keys(self.shards, name=self._name, prefix=self._prefix)

    async def depth(self, shard: str) -> Depth:
        keys = self._keys[shard]
        direct = self._testbed.direct(self.shards[shard])
        waiting, *leased = await sizes_of(direct, [("ZCARD", key) for key in (keys.waiting, *keys.leases)])
        return Depth(waiting, sum(leased))

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]:
        all_keys = v2_keys(zones, name=name or NAME, prefix=prefix or PREFIX).items()
        return [
            *(waiting_or_leased("queue", keys.waiting, zone) for zone, keys in all_keys),
            *(waiting_or_leased("unack", key, zone) for zone, keys in all_keys for key in keys.leases),
            *(Place(holds="payload", key=key, kind=PlaceKind.HASH) for _, keys in all_keys for key in keys.payloads),
        ]

    def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        return v2_rows(self._testbed.direct(zone), self._keys, self.shards, zone=zone)

    def _made(self, site: Site, **settings: Any) -> MultiQueue:
        return v2_queue(site, **settings)


def waiting_or_leased(holds: str, key: str, shard: str) -> Place:
    """A sorted set of ids by the time when they are due, or their leases end, in ms."""
    return Place(holds=holds, key=key, kind=PlaceKind.SORTED, shard=shard, unit_ms=1)


def v1_queue(
    site: Site,
    *,
    queue_class: type[DynoQueue] = DynoQueue,
    strategy: ShardingStrategy | None = None,
    name: str = NAME,
    prefix: str = PREFIX,
    **settings: Any,
) -> DynoQueue:
    """An instance that serves the shard of its zone."""
    return queue_class(
        name,
        runtime=site.runtime,
        clock=site.clock,
        quorum=site.connection,
        local=site.local,
        settings=DynoSettings(prefix=prefix, shards=site.zones, shard=site.zone, **settings),
        strategy=strategy,
    )


def v2_queue(
    site: Site,
    *,
    queue_class: type[PipelinedQueue] = PipelinedQueue,
    strategy: ShardingStrategy | None = None,
    name: str = NAME,
    prefix: str = PREFIX,
    **settings: Any,
) -> MultiQueue:
    """Make a queue of version 2; see ``v1_queue``. ``queue_class`` is that of each shard's queue."""
    queues = {
        shard: queue_class(
            name,
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            local=site.local,
            settings=PipelinedSettings(prefix=prefix, shard=shard, **settings),
        )
        for shard in site.zones
    }
    return MultiQueue(name, shard=site.zone, queues=queues, strategy=strategy)


async def v1_rows(
    direct: Connection, keys: QueueKeys, shards: Mapping[str, str], *, zone: str
) -> AsyncIterator[dict[str, Any]]:
    """Yield what the server of ``zone`` holds. ``shards``: shard → the zone that serves it."""
    for shard, serving_zone in shards.items():
        for place, key in (("queue", keys.queue_of(shard)), ("unack", keys.unack(shard))):
            async for member, score in sorted_set(direct, key):
                yield state_row(zone, place, member, shard=shard, score=score, serving=serving_zone == zone)
    async for field in hash_fields(direct, keys.messages):
        yield state_row(zone, "payload", field)


def v2_keys(shards: Iterable[str], *, name: str = NAME, prefix: str = PREFIX) -> dict[str, PipelinedKeys]:
    return {shard: PipelinedKeys(prefix=prefix, queue=name, shard=shard) for shard in shards}


async def v2_rows(
    direct: Connection, keys_of: Mapping[str, PipelinedKeys], shards: Mapping[str, str], *, zone: str
) -> AsyncIterator[dict[str, Any]]:
    """Yield the rows of version 2; see ``v1_rows``. Each shard has its keys."""
    for shard, serving_zone in shards.items():
        keys, serving = keys_of[shard], serving_zone == zone
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


def strategy_of(sharding: Sharding, zone: str) -> ShardingStrategy:
    if sharding is Sharding.ID_HASH:
        return IdHash()
    return LocalOnly(zone) if sharding is Sharding.LOCAL_ONLY else RoundRobin()


class _ConsumerQueue:
    """``queue``, with its own errors as those that every queue may raise."""

    def __init__(self, queue: DynoQueue | MultiQueue) -> None:
        self._queue = queue
        self.start, self.push, self.close = queue.start, queue.push, queue.close
        self.set_unack_timeout = queue.set_unack_timeout
        self.peek, self.get, self.remove, self.size = queue.peek, queue.get, queue.remove, queue.size

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        try:
            return await self._queue.pop(count, wait_ms=wait_ms)
        except PayloadError as error:
            # The lease was written and the message is not delivered, so the pop neither worked nor failed cleanly.
            raise Indeterminate(*error.args) from error

    async def ack(self, delivery: Delivery, /) -> bool:
        return await self._queue.ack(delivery)
