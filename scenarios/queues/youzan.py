"""The Youzan queue as the queue under test: jobs of some topics, which consumers of every zone take."""

from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Any

from cluster.testbed import Testbed
from engine.common.lifecycle import Startable
from engine.queue import Queue
from engine.youzan import YouzanKeys, YouzanQueue, YouzanSettings, YouzanTimers
from scenarios.queues.end_state import answer_of, keys_like, sizes_of, sorted_set, state_row
from scenarios.queues.under_test import Depth, Site, Wrap, site_of
from scenarios.spec.queue_settings import YouzanQueueSettings
from scenarios.spec.scenario import Scenario

TIMERS = "timers"
MS_PER_S = 1_000


class YouzanUnderTest:
    def __init__(self, testbed: Testbed, scenario: Scenario) -> None:
        self._testbed, self._scenario = testbed, scenario
        queue = scenario.queue.of(YouzanQueueSettings)
        self._settings = YouzanSettings(
            topics=queue.topics,
            buckets=queue.buckets,
            ttr_s=-(-queue.unack_ms // MS_PER_S),
            scan_interval_ms=queue.scan_interval_ms,
            lock_ms=queue.lock_ms or queue.unack_ms,
            compat=queue.compat,
        )
        self._keys = YouzanKeys(prefix=self._settings.prefix, compat=queue.compat)
        self._programs = count(1)
        self.shards: Mapping[str, str] = dict.fromkeys(queue.topics, scenario.zones[0])

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(self._site(zone, wrap))

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(self._site(zone, wrap))

    @staticmethod
    def services(scenario: Scenario) -> Sequence[tuple[str, str]]:
        """Timers in every zone; with ``compat`` in the first, since ouqiang's queue is one program."""
        return [(TIMERS, zone) for zone in (scenario.zones[:1] if scenario.queue.compat else scenario.zones)]

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        return self._timers(self._site(zone, wrap))

    async def depth(self, shard: str) -> Depth:
        """Of its ready list, and of the buckets that all topics share."""
        direct, keys = self._testbed.direct(self.shards[shard]), self._keys
        sizes = [("LLEN", keys.ready(shard)), *(("ZCARD", bucket) for bucket in self._buckets())]
        return Depth(sum(await sizes_of(direct, sizes)), leased=0)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Buckets tell neither the delayed from the leased nor topics apart: all are ``queue``, of the first topic."""
        direct, first = self._testbed.direct(zone), self._settings.topics[0]
        serving = zone == self.shards[first]
        for bucket in self._buckets():
            async for job_id, due_s in sorted_set(direct, bucket):
                yield state_row(zone, "queue", job_id, shard=first, score=due_s * MS_PER_S, serving=serving)
        lists = {topic: self._keys.ready(topic) for topic in self.shards}
        for topic, key in lists.items():
            (ready,) = await direct.execute(("LRANGE", key, 0, -1))
            for raw in answer_of(ready):
                yield state_row(zone, "queue", raw.decode(), shard=topic, serving=serving)
        others = {*self._buckets(), *lists.values()}
        async for key in keys_like(direct, self._keys.job("*")):
            if key not in others:
                yield state_row(zone, "payload", key.removeprefix(self._keys.job("")))

    def _buckets(self) -> list[str]:
        return [self._keys.bucket(number) for number in range(1, self._settings.buckets + 1)]

    def _site(self, zone: str, wrap: Wrap) -> Site:
        return site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)

    def _instance(self, site: Site) -> YouzanQueue:
        return YouzanQueue(runtime=site.runtime, clock=site.clock, quorum=site.connection, settings=self._settings)

    def _timers(self, site: Site) -> YouzanTimers:
        return YouzanTimers(
            f"{site.zone}-{next(self._programs)}",
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            local=site.local,
            settings=self._settings,
        )
