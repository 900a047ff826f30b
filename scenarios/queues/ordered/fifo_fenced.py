"""Fenced partitions (``zonelab.engine.fifo.fenced``) as the queue under test."""

from collections.abc import AsyncIterator, Collection, Sequence
from itertools import count
from typing import Any

from zonelab.cluster.testbed import Testbed
from zonelab.engine.fifo.consumer.context import Zones
from zonelab.engine.fifo.fenced.final import final_rows, unplaced, waiting
from zonelab.engine.fifo.fenced.keys import FencedKeys, route_partition
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.engine.fifo.fenced.member.zones import FencedLogs, FencedZones, Wires
from zonelab.engine.fifo.fenced.resizing import FencedRoutes, SealedLogs
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.settings import Begin, ConsumerSettings
from zonelab.engine.fifo.topics.routes import Routes
from zonelab.scenarios.queues.end_state import state_row
from zonelab.scenarios.queues.ordered.fifo import FifoUnderTest
from zonelab.scenarios.queues.under_test import OF_A_RUN, Depth, QueueNames, Site
from zonelab.scenarios.spec.scenario import Scenario


class FencedUnderTest(FifoUnderTest):
    """``without``: mechanisms that are off."""

    def __init__(
        self, testbed: Testbed, scenario: Scenario, naming: QueueNames = OF_A_RUN, *, without: Collection[Fencing] = ()
    ) -> None:
        super().__init__(testbed, scenario, naming)
        self._without = frozenset(without)
        self._fenced_keys = FencedKeys(prefix=self._prefix)
        self._sessions = count(1)

    async def depth(self, shard: str) -> Depth:
        zones = [self._testbed.direct(zone) for zone in self._scenario.zones]
        last = self._group.begins is Begin.LAST
        partition = self._by_name[shard]
        return Depth(await waiting(zones, self._fenced_keys, partition, self._keepers, begins_last=last), leased=0)

    async def final_state(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        for name, partition in self._by_name.items():
            rows = await self._rows(zone, name, self._keepers[:1])
            cursor = next((row["offset"] for row in rows if row["place"] == "cursor"), 0)
            for row in rows:
                if row["place"] == "dead" or (row["place"] == "log" and row["offset"] >= cursor):
                    place = "dead" if row["place"] == "dead" else "queue"
                    serving = partition.home == zone
                    yield state_row(zone, place, row["message_id"], shard=name, score=row["offset"], serving=serving)
            for record in await unplaced(self._testbed.direct(zone), self._fenced_keys, partition):
                yield state_row(zone, "queue", record.id, shard=name, score=0, serving=partition.home == zone)

    async def final_order(self, zone: str) -> AsyncIterator[dict[str, Any]]:
        for name in self._by_name:
            for row in await self._rows(zone, name, self._keepers):
                yield row

    async def _rows(self, zone: str, name: str, groups: Sequence[str]) -> list[dict[str, Any]]:
        direct = self._testbed.direct(zone)
        return await final_rows(direct, self._fenced_keys, self._by_name[name], groups, zone=zone)

    def _logs(self, site: Site, session: str) -> PartitionLogs:
        return FencedLogs(wires=self._wires(site, session), tenures=None, keys=self._keys)

    def _zones(self, site: Site, session: str, settings: ConsumerSettings, member: str) -> Zones:
        route = route_partition(self._topic, self._scenario.zones) if self._settings.resizes else None
        return FencedZones.of_wires(settings, member, wires=self._wires(site, session), keys=self._keys, route=route)

    def _topic_of(self, site: Site, name: str) -> tuple[Routes, PartitionLogs]:
        group = self._group
        wires = self._wires(site, self._session_of(name))
        store = wires.store(
            lease_ms=group.times_ms.lease, margin_ms=group.clock_margin_ms, lease_clock=group.lease_clock
        )
        routes = FencedRoutes(self._topic, zones=self._scenario.zones, store=store, keys=self._keys)
        return routes, SealedLogs(store, keys=self._keys)

    def _session_of(self, name: str) -> str:
        return f"{name}.{next(self._sessions)}"

    def _wires(self, site: Site, session: str) -> Wires:
        return Wires(
            session=session,
            runtime=site.runtime,
            clock=site.clock,
            safe=site.safe,
            level=site.connection,
            zones=site.reads,
            near=site.zone,
            keys=self._fenced_keys,
            without=self._without,
        )
