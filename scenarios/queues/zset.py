"""The sorted set without leases as the queue under test: one set, which consumers of every zone take from."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from zonelab.cluster.testbed import Testbed
from zonelab.engine.zset import ZsetQueue, id_of
from zonelab.scenarios.queues.end_state import sizes_of, sorted_set, state_row
from zonelab.scenarios.queues.places import Place, PlaceKind
from zonelab.scenarios.queues.under_test import OF_A_RUN, Depth, QueueNames, Wrap, site_of
from zonelab.scenarios.spec.queue_settings import QueueSettings
from zonelab.scenarios.spec.scenario import Scenario

KEY = "jobs"


class ZsetUnderTest:
    def __init__(self, testbed: Testbed, scenario: Scenario, naming: QueueNames = OF_A_RUN) -> None:
        self._testbed, self._scenario, self._key, self._home = testbed, scenario, naming.name or KEY, scenario.zones[0]
        self.shards: Mapping[str, str] = {self._key: self._home}

    async def producer(self, zone: str, wrap: Wrap) -> "_ZsetProgram":
        site = site_of(self._testbed, self._scenario.zones, zone, level=self._scenario.setting, wrap=wrap)
        return _ZsetProgram(self._key, runtime=site.runtime, clock=site.clock, quorum=site.connection, local=site.local)

    consumer = producer

    async def depth(self, shard: str) -> Depth:
        (waiting,) = await sizes_of(self._testbed.direct(self.shards[shard]), [("ZCARD", self._key)])
        return Depth(waiting, leased=0)

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]:
        """``name`` is the key itself, without a prefix."""
        return [Place(holds="queue", key=name or KEY, kind=PlaceKind.SORTED, shard=name or KEY, unit_ms=1, id_of=id_of)]

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        async for member, due_ms in sorted_set(self._testbed.direct(zone), self._key):
            yield state_row(zone, "queue", id_of(member), shard=self._key, score=due_ms, serving=zone == self._home)


class _ZsetProgram(ZsetQueue):
    async def ack(self, delivery: object) -> bool:  # the delivery was the end of it
        return True
