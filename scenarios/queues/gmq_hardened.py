"""Hardened gmq as the queue under test: one topic, with a shard a zone, and a dispatcher a zone."""

from collections.abc import Collection, Sequence

from cluster.testbed import Testbed
from engine.common.lifecycle import Startable
from engine.dyno.hardened import HardenedQueue, HardenedSettings
from engine.dyno.hardened.context import HardenedContext
from engine.dyno.hardened.mechanisms import Hardening
from engine.gmq.hardened import HardenedDispatcher, HardenedGmqQueue
from engine.queue import Queue
from scenarios.queues.dyno import strategy_of
from scenarios.queues.gmq import dispatchers_of
from scenarios.queues.hardened import HardenedUnderTest, times_of
from scenarios.queues.under_test import Site, Wrap
from scenarios.spec.queue_settings import Dispatchers, GmqQueueSettings
from scenarios.spec.scenario import Scenario


class HardenedGmqUnderTest(HardenedUnderTest):
    prefix = "gmq"

    def __init__(self, testbed: Testbed, scenario: Scenario, without: Collection[Hardening] = ()) -> None:
        (self.name,) = scenario.queue.of(GmqQueueSettings).topics
        super().__init__(testbed, scenario, without)

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        return self._popping(zone, wrap)

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        queue = self._popping(zone, wrap)
        await queue.start()
        return queue

    @staticmethod
    def services(scenario: Scenario) -> Sequence[tuple[str, str]]:
        """A dispatcher in every zone, unless told: what one zone missed is brought by those of the others, too."""
        return dispatchers_of(scenario, otherwise=Dispatchers.EACH_ZONE)

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        site, settings = self._site(zone, wrap), self._settings(zone)
        context = HardenedContext.of(
            self.name,
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            safe=site.safe,
            local=site.local,
            zones=site.reads,
            settings=settings,
        )
        return HardenedDispatcher(f"dispatcher {settings.instance}", {self.name: context})

    def _popping(self, zone: str, wrap: Wrap) -> HardenedGmqQueue:
        site: Site = self._site(zone, wrap)
        topic = HardenedQueue(
            self.name,
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            safe=site.safe,
            local=site.local,
            zones=site.reads,
            settings=self._settings(zone),
            strategy=strategy_of(self._scenario.queue.of(GmqQueueSettings).sharding, zone),
        )
        return HardenedGmqQueue({self.name: topic}, runtime=site.runtime)

    def _settings(self, zone: str) -> HardenedSettings:
        """A lease ends by its time: gmq has no heartbeat."""
        return HardenedSettings(
            prefix=self.prefix,
            shards=tuple(self.shards),
            shard=zone,
            instance=f"{zone}-{next(self._instances)}",
            without=tuple(dict.fromkeys((Hardening.LEASE_HEARTBEAT, *self._without))),
            **times_of(self._scenario.queue.of(GmqQueueSettings)),
        )
