"""The hardened dyno queue as the queue under test."""

from collections.abc import AsyncIterator, Collection, Sequence
from itertools import count
from typing import Any

from zonelab.cluster.testbed import Testbed
from zonelab.engine.dyno.hardened import HardenedKeys, HardenedQueue, HardenedSettings, Hardening
from zonelab.engine.dyno.sharding import ShardingStrategy
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.dyno import NAME, PREFIX, DynoUnderTest, strategy_of, waiting_or_leased
from zonelab.scenarios.queues.end_state import answer_of, hash_fields, sorted_set, state_row
from zonelab.scenarios.queues.places import Place, PlaceKind
from zonelab.scenarios.queues.under_test import OF_A_RUN, Depth, QueueNames, Site, Wrap, site_of
from zonelab.scenarios.spec.queue_settings import DynoQueueSettings, QueueSettings, ShardedSettings
from zonelab.scenarios.spec.scenario import Scenario

MARGIN_SHARE = 10
"""Clocks may differ by a lease divided by this."""

TAKEOVER_LEASES = 2
HOLD_LEASES = 50


class HardenedUnderTest:
    """A shard per zone, served by the zone of its name, or for a while by another."""

    def __init__(
        self,
        testbed: Testbed,
        scenario: Scenario,
        naming: QueueNames = OF_A_RUN,
        *,
        without: Collection[Hardening] = (),
    ) -> None:
        self._testbed = testbed
        self._scenario = scenario
        self._without = tuple(without)
        self._naming = naming
        self._name, self._prefix = naming.name or NAME, naming.prefix or PREFIX
        self._keys = HardenedKeys(prefix=self._prefix, queue=self._name)
        self._instances = count(1)
        self.shards = {zone: zone for zone in scenario.zones}

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        if self._scenario.queue.of(DynoQueueSettings).v1_producers:
            return await DynoUnderTest(self._testbed, self._scenario, self._naming).producer(zone, wrap)
        return self._instance(zone, wrap)

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = self._instance(zone, wrap)
        await queue.start()
        return queue

    async def depth(self, shard: str) -> Depth:
        """Return the largest depth over the zones: a message is settled only when no zone lists it."""
        keys = self._keys
        depths = []
        for zone in self._scenario.zones:
            sets = (keys.queue_of(shard), keys.ready(shard), keys.unack(shard))
            replies = await self._testbed.direct(zone).execute(*(("ZCARD", key) for key in sets))
            delayed, ready, leased = (answer_of(reply) for reply in replies)
            depths.append(Depth(delayed + ready, leased))
        return Depth(max(depth.waiting for depth in depths), max(depth.leased for depth in depths))

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]:
        keys = HardenedKeys(prefix=prefix or PREFIX, queue=name or NAME)
        return [
            *(waiting_or_leased("queue", keys.queue_of(zone), zone) for zone in zones),
            *(Place(holds="queue", key=keys.ready(zone), kind=PlaceKind.SORTED, shard=zone) for zone in zones),
            *(waiting_or_leased("unack", keys.unack(zone), zone) for zone in zones),
            Place(holds="dead", key=keys.dead, kind=PlaceKind.SORTED),
            Place(holds="payload", key=keys.messages, kind=PlaceKind.HASH),
        ]

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        direct, keys = self._testbed.direct(zone), self._keys
        for shard, serving_zone in self.shards.items():
            places = (("queue", keys.queue_of(shard)), ("queue", keys.ready(shard)), ("unack", keys.unack(shard)))
            for place, key in places:
                async for member, score in sorted_set(direct, key):
                    yield state_row(zone, place, member, shard=shard, score=score, serving=serving_zone == zone)
        async for member, score in sorted_set(direct, keys.dead):
            yield state_row(zone, "dead", member, score=score)
        async for field in hash_fields(direct, keys.messages):
            yield state_row(zone, "payload", field)

    def _instance(self, zone: str, wrap: Wrap) -> HardenedQueue:
        return hardened_queue(
            self._site(zone, wrap),
            instance=f"{self._naming.program}{zone}-{next(self._instances)}",
            name=self._name,
            prefix=self._prefix,
            strategy=strategy_of(self._scenario.queue.of(ShardedSettings).sharding, zone),
            without=self._without,
            **times_of(self._scenario.queue.of(ShardedSettings)),
        )

    def _site(self, zone: str, wrap: Wrap) -> Site:
        return site_of(self._testbed, tuple(self.shards), zone, level=self._scenario.setting, wrap=wrap)


def times_of(queue: ShardedSettings) -> dict[str, Any]:
    """The lengths of time of ``HardenedSettings``, all in proportion to the lease, and what else is given."""
    lease_ms = queue.unack_ms
    return {
        "lease_ms": lease_ms,
        "margin_ms": max(1, lease_ms // MARGIN_SHARE),
        "keeper_interval_ms": lease_ms,
        "grace_ms": lease_ms,
        "takeover_ms": TAKEOVER_LEASES * lease_ms,
        "hold_max_ms": HOLD_LEASES * lease_ms,
        "deliveries_max": queue.deliveries_max,
    }


def hardened_queue(
    site: Site,
    *,
    instance: str,
    strategy: ShardingStrategy,
    queue_class: type[HardenedQueue] = HardenedQueue,
    name: str = NAME,
    prefix: str = PREFIX,
    **settings: Any,
) -> HardenedQueue:
    """The instance of this name, which serves the shard of its zone."""
    return queue_class(
        name,
        runtime=site.runtime,
        clock=site.clock,
        quorum=site.connection,
        safe=site.safe,
        local=site.local,
        zones=site.reads,
        settings=HardenedSettings(prefix=prefix, shards=site.zones, shard=site.zone, instance=instance, **settings),
        strategy=strategy,
    )
