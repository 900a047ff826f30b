"""The shipped dyno-queues engines, and hardened mode, as the queue under test."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import invariant

from zonelab.engine.dyno import DynoQueue, QueueKeys
from zonelab.engine.dyno.hardened import HardenedQueue, Hardening
from zonelab.engine.dyno.sharding import LocalOnly
from zonelab.engine.dyno.v2 import BUCKETS, PipelinedQueue
from zonelab.engine.ports import Connection
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.dyno import NAME, PREFIX, v1_queue, v1_rows, v2_keys, v2_queue, v2_rows
from zonelab.scenarios.queues.hardened import hardened_queue
from zonelab.scenarios.queues.under_test import Site
from zonelab.studies.properties.faults import DEATHS, Trouble
from zonelab.studies.properties.interruptions import Course, CrashBefore, StallBefore
from zonelab.studies.properties.machine import SAFE, QueueMachine
from zonelab.studies.properties.zone_contents import Holdings


class DynoQueueMachine(QueueMachine):
    """dyno-queues with a shard in every zone. ``queue_class`` may be a subclass that is to be tried.

    It extends by id, in two steps: whoever held a lease before may extend that of another, or one that just ends.
    """

    queue_class = DynoQueue
    extends_any_time = False

    def make_queue(self, site: Site) -> Queue:
        return v1_queue(site, queue_class=self.queue_class, unack_ms=self.lease_ms)

    async def holdings(self, zone: str, direct: Connection) -> Holdings | None:
        shards = {shard: shard for shard in self.zones}
        return await Holdings.of(v1_rows(direct, QueueKeys(prefix=PREFIX, queue=NAME), shards, zone=zone))


class DynoV2QueueMachine(QueueMachine):
    """dyno-queues V2: in every zone a multi-shard queue that serves the zone's shard.

    ``queue_class`` may be a subclass of the shard's queue that is to be tried. An operation stops between pipelines.
    One that looks for ended leases reads a size and every bucket's leases before it does anything; it stops after that.
    """

    queue_class = PipelinedQueue
    extends_any_time = False
    commands: ClassVar[Mapping[str, int]] = {"push": 2, "pop": 10, "ack": 4, "process_unacks": 6}

    def _courses(self, operation: str) -> st.SearchStrategy[Course]:
        drawn = super()._courses(operation)
        return drawn.map(_after_reads) if operation == "process_unacks" else drawn

    def make_queue(self, site: Site) -> Queue:
        return v2_queue(site, queue_class=self.queue_class, unack_ms=self.lease_ms)

    async def holdings(self, zone: str, direct: Connection) -> Holdings | None:
        shards = {shard: shard for shard in self.zones}
        return await Holdings.of(v2_rows(direct, v2_keys(shards), shards, zone=zone))


def _after_reads(course: Course) -> Course:
    if isinstance(course, StallBefore | CrashBefore):
        return replace(course, command=course.command + 1 + BUCKETS)
    return course


class HardenedQueueMachine(QueueMachine):
    """A hardened queue with a shard in every zone. ``without``: mechanisms that are switched off.

    Its work in the background does not run by itself: to look for ended leases is to compare the zones once. At most
    one zone or set of links is in trouble at a time, and one zone of a run is killed.
    """

    without: ClassVar[tuple[Hardening, ...]] = ()
    troubles = SAFE | {Trouble.KILL_KEEP, Trouble.KILL_WIPE, Trouble.KILL_WARM, Trouble.DROP}
    commands: ClassVar[dict[str, int]] = {"push": 1, "pop": 8, "ack": 1, "process_unacks": 30}

    def __init__(self) -> None:
        super().__init__()
        self._instances = count(1)
        self._killed = False

    def make_queue(self, site: Site) -> Queue:
        return hardened_queue(
            site,
            queue_class=_Driven,
            instance=f"{site.zone}-{next(self._instances)}",
            strategy=LocalOnly(site.zone),
            lease_ms=self.lease_ms,
            margin_ms=1,
            grace_ms=0,
            without=self.without,
        )

    def _may(self, trouble: Trouble) -> bool:
        of_programs = trouble in (Trouble.CRASH, Trouble.STALL)
        alone = of_programs or self.lab is None or not len(self.lab.troubles)
        if trouble not in DEATHS:
            return super()._may(trouble) and alone
        return super()._may(trouble) and alone and not self._killed

    @invariant()
    def one_zone_was_killed_at_most(self) -> None:
        self._killed = self._killed or (self.lab is not None and bool(self.lab.troubles.dead_zones()))


class _Driven(HardenedQueue):
    """To look for ended leases is to compare the zones once."""

    async def process_unacks(self) -> None:
        await self.compare()
