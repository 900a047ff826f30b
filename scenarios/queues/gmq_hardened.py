"""Hardened gmq as the queue under test: each topic has a shard a zone; a dispatcher in every zone by default."""

from collections.abc import AsyncIterator, Collection, Sequence
from itertools import count
from typing import Any

from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.dyno.hardened import HardenedQueue, HardenedSettings
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.gmq.hardened import HardenedDispatcher, HardenedGmqQueue
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.dyno import strategy_of
from zonelab.scenarios.queues.gmq import dispatchers_of
from zonelab.scenarios.queues.hardened import HardenedUnderTest, times_of
from zonelab.scenarios.queues.places import Place
from zonelab.scenarios.queues.under_test import OF_A_RUN, Depth, QueueNames, Wrap, site_of
from zonelab.scenarios.spec.queue_settings import Dispatchers, GmqQueueSettings, QueueSettings
from zonelab.scenarios.spec.scenario import Scenario

PREFIX = "gmq"


class HardenedGmqUnderTest:
    def __init__(
        self,
        testbed: Testbed,
        scenario: Scenario,
        naming: QueueNames = OF_A_RUN,
        *,
        without: Collection[Hardening] = (),
    ) -> None:
        self._testbed, self._scenario, self._without = testbed, scenario, tuple(without)
        self._settings_told = scenario.queue.of(GmqQueueSettings)
        self._prefix, self._program = naming.prefix or PREFIX, naming.program
        self._topics = {
            name: HardenedUnderTest(testbed, scenario, QueueNames(name=name, prefix=self._prefix))
            for name in self._settings_told.topics
        }
        self._instances = count(1)
        self.shards = {zone: zone for zone in scenario.zones}

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(zone, wrap)

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = self._instance(zone, wrap)
        await queue.start()
        return queue

    @staticmethod
    def services(scenario: Scenario) -> Sequence[tuple[str, str]]:
        """A dispatcher in every zone, unless set otherwise: what one zone missed is brought by those of the
        others, too.
        """
        return dispatchers_of(scenario, otherwise=Dispatchers.EACH_ZONE)

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        parts = self._parts(zone, wrap)
        contexts = {topic: HardenedContext.of(topic, **parts, settings=self._settings(zone)) for topic in self._topics}
        return HardenedDispatcher(f"dispatcher {self._program}{zone}-{next(self._instances)}", contexts)

    async def depth(self, shard: str) -> Depth:
        depths = [await topic.depth(shard) for topic in self._topics.values()]
        return Depth(sum(depth.waiting for depth in depths), sum(depth.leased for depth in depths))

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]:
        """``name`` is that of a topic."""
        topics = queue.of(GmqQueueSettings).topics if name is None else (name,)
        prefix = prefix or PREFIX
        return [
            place for topic in topics for place in HardenedUnderTest.places(queue, zones, name=topic, prefix=prefix)
        ]

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        for topic in self._topics.values():
            async for row in topic.final_state(zone):
                yield row

    def _instance(self, zone: str, wrap: Wrap) -> HardenedGmqQueue:
        parts, strategy = self._parts(zone, wrap), strategy_of(self._settings_told.sharding, zone)
        topics = {
            topic: HardenedQueue(topic, **parts, settings=self._settings(zone), strategy=strategy)
            for topic in self._topics
        }
        return HardenedGmqQueue(topics, runtime=self._testbed.runtime)

    def _parts(self, zone: str, wrap: Wrap) -> dict[str, Any]:
        site = site_of(self._testbed, tuple(self.shards), zone, level=self._scenario.setting, wrap=wrap)
        return {
            "runtime": site.runtime,
            "clock": site.clock,
            "quorum": site.connection,
            "safe": site.safe,
            "local": site.local,
            "zones": site.reads,
        }

    def _settings(self, zone: str) -> HardenedSettings:
        """A lease ends by its time: gmq has no heartbeat."""
        return HardenedSettings(
            prefix=self._prefix,
            shards=tuple(self.shards),
            shard=zone,
            instance=f"{self._program}{zone}-{next(self._instances)}",
            payloads_compared=True,
            without=tuple(dict.fromkeys((Hardening.LEASE_HEARTBEAT, *self._without))),
            **times_of(self._settings_told),
        )
