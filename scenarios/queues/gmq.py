"""gmq as the queue under test: jobs of some topics, which consumers of every zone take."""

from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Any

from cluster.testbed import Testbed
from engine.common.lifecycle import Startable
from engine.gmq import Channel, GmqDispatcher, GmqKeys, GmqQueue, GmqSettings, Handed
from engine.queue import Queue
from scenarios.queues.end_state import answer_of, keys_like, sizes_of, sorted_set, state_row
from scenarios.queues.under_test import Depth, Site, Wrap, site_of
from scenarios.spec.queue_settings import Dispatchers, GmqQueueSettings
from scenarios.spec.scenario import Scenario

DISPATCHER = "dispatcher"
MS_PER_S = 1_000


class GmqUnderTest:
    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed, self._scenario = testbed, scenario
        queue = scenario.queue.of(GmqQueueSettings)
        self._settings = GmqSettings(
            topics=queue.topics,
            buckets=queue.buckets,
            ttr_buckets=queue.ttr_buckets,
            ttr_s=-(-queue.unack_ms // MS_PER_S),
            compat=queue.compat,
        )
        self._keys = GmqKeys(prefix=self._settings.prefix)
        self._programs = count(1)
        self._cards: Mapping[str, Channel[Handed]] = {
            zone: Channel(testbed.runtime) for _, zone in self.services(scenario)
        }
        self.shards: Mapping[str, str] = dict.fromkeys(queue.topics, scenario.zones[0])

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(self._site(zone, wrap))

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(self._site(zone, wrap))

    @staticmethod
    def services(scenario: Scenario) -> Sequence[tuple[str, str]]:
        """One dispatcher, in the first zone, whose programs of every zone hand it their cards; or one a zone."""
        return dispatchers_of(scenario, otherwise=Dispatchers.ONE)

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        site = self._site(zone, wrap)
        return GmqDispatcher(
            f"{zone}-{next(self._programs)}",
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            cards=self._cards[zone],
            settings=self._settings,
        )

    async def depth(self, shard: str) -> Depth:
        """Of its ready list, and of the buckets that all topics share."""
        direct, keys = self._testbed.direct(self.shards[shard]), self._keys
        waiting = [("LLEN", keys.ready(shard)), *(("ZCARD", bucket) for bucket in self._delayed())]
        leased = [("ZCARD", bucket) for bucket in self._leased()]
        sizes = await sizes_of(direct, [*waiting, *leased])
        return Depth(sum(sizes[: len(waiting)]), leased=sum(sizes[len(waiting) :]))

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """What is in a bucket, which may hold jobs of any topic, is told as of the first."""
        direct, first = self._testbed.direct(zone), self._settings.topics[0]
        serving = zone == self.shards[first]
        for place, buckets in (("queue", self._delayed()), ("unack", self._leased())):
            for bucket in buckets:
                async for job_id, due_s in sorted_set(direct, bucket):
                    yield state_row(zone, place, job_id, shard=first, score=due_s * MS_PER_S, serving=serving)
        for topic in self.shards:
            (ready,) = await direct.execute(("LRANGE", self._keys.ready(topic), 0, -1))
            for raw in answer_of(ready):
                yield state_row(zone, "queue", raw.decode(), shard=topic, serving=serving)
        async for key in keys_like(direct, self._keys.job("*")):
            yield state_row(zone, "payload", key.removeprefix(self._keys.job("")))

    def _delayed(self) -> list[str]:
        return [self._keys.delay_bucket(number) for number in range(self._settings.buckets)]

    def _leased(self) -> list[str]:
        return [self._keys.ttr_bucket(number) for number in range(self._settings.ttr_buckets)]

    def _site(self, zone: str, wrap: Wrap) -> Site:
        return site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)

    def _instance(self, site: Site) -> GmqQueue:
        cards = self._cards.get(site.zone) or next(iter(self._cards.values()))
        return GmqQueue(
            runtime=site.runtime, clock=site.clock, quorum=site.connection, cards=cards, settings=self._settings
        )


def dispatchers_of(scenario: Scenario, *, otherwise: Dispatchers) -> Sequence[tuple[str, str]]:
    """The dispatchers that ``queue.dispatchers`` asks for, or ``otherwise``."""
    one = (scenario.queue.of(GmqQueueSettings).dispatchers or otherwise) is Dispatchers.ONE
    return [(DISPATCHER, zone) for zone in (scenario.zones[:1] if one else scenario.zones)]
