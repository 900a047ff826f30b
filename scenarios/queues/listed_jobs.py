"""Queues of jobs as the queue under test: buckets, a ready list a topic, a pool; consumers of every zone take of it."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from zonelab.cluster.testbed import Testbed
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.end_state import answer_of, keys_like, sizes_of, sorted_set, state_row
from zonelab.scenarios.queues.places import Place, PlaceKind
from zonelab.scenarios.queues.under_test import Depth, Site, Wrap, site_of
from zonelab.scenarios.spec.scenario import Scenario

MS_PER_S = 1_000

Bucket = tuple[str, str]
"""A bucket: the place of its jobs in an end state, ``queue`` or ``unack``, and its key."""


class JobKeys(Protocol):
    """Keys of a queue's parts: of the ready list of a topic, and of a job."""

    def ready(self, topic: str, /) -> str: ...
    def job(self, job_id: str, /) -> str: ...


class ListedJobsUnderTest(ABC):
    """Every topic is served by the first zone."""

    _keys: JobKeys

    def __init__(self, testbed: Testbed, scenario: Scenario, *, topics: Sequence[str]) -> None:
        self._testbed, self._scenario = testbed, scenario
        self.shards: Mapping[str, str] = dict.fromkeys(topics, scenario.zones[0])

    async def producer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(self._site(zone, wrap))

    async def consumer(self, zone: str, wrap: Wrap) -> Queue:
        return self._instance(self._site(zone, wrap))

    async def depth(self, shard: str) -> Depth:
        """Return the depth of its ready list and of the buckets that all topics share."""
        direct, buckets = self._testbed.direct(self.shards[shard]), self._buckets()
        keys = [("LLEN", self._keys.ready(shard)), *(("ZCARD", key) for _, key in buckets)]
        ready, *sizes = await sizes_of(direct, keys)
        leased = sum(size for size, (place, _) in zip(sizes, buckets, strict=True) if place == "unack")
        return Depth(ready + sum(sizes) - leased, leased)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        """Yield what is in a bucket, which may hold jobs of any topic, as if all were of the first."""
        direct, first = self._testbed.direct(zone), next(iter(self.shards))
        serving = zone == self.shards[first]
        for place, bucket in self._buckets():
            async for job_id, due_s in sorted_set(direct, bucket):
                yield state_row(zone, place, job_id, shard=first, score=due_s * MS_PER_S, serving=serving)
        lists = {topic: self._keys.ready(topic) for topic in self.shards}
        for topic, key in lists.items():
            (ready,) = await direct.execute(("LRANGE", key, 0, -1))
            for raw in answer_of(ready):
                yield state_row(zone, "queue", raw.decode(), shard=topic, serving=serving)
        others = {*(key for _, key in self._buckets()), *lists.values()}  # a prefix of jobs may be empty
        async for key in keys_like(direct, self._keys.job("*")):
            if key not in others:
                yield state_row(zone, "payload", key.removeprefix(self._keys.job("")))

    @abstractmethod
    def _instance(self, site: Site) -> Queue: ...

    @abstractmethod
    def _buckets(self) -> Sequence[Bucket]: ...

    def _site(self, zone: str, wrap: Wrap) -> Site:
        return site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)


def job_places(keys: JobKeys, topics: Sequence[str], buckets: Sequence[Bucket]) -> Sequence[Place]:
    """The places of a queue with these ``keys``: those of ``topics``, and the ``buckets`` of all topics."""
    return [
        *(Place(holds=holds, key=key, kind=PlaceKind.SORTED, unit_ms=MS_PER_S) for holds, key in buckets),
        *(Place(holds="queue", key=keys.ready(topic), kind=PlaceKind.LIST, shard=topic) for topic in topics),
        Place(holds="payload", key=keys.job(""), kind=PlaceKind.EACH),
    ]
