"""The shipped dyno-queues engines as the queue under test."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from hypothesis import strategies as st

from engine.dyno import DynoQueue, Keys
from engine.dyno.v2 import BUCKETS, PipelinedQueue
from engine.ports import Connection
from engine.queue import Queue
from scenarios.properties.interruptions import Course, CrashBefore, StallBefore
from scenarios.properties.machine import QueueMachine
from scenarios.properties.zone_contents import Holdings
from scenarios.queues.dyno import NAME, PREFIX, v1_queue, v1_rows, v2_keys, v2_queue, v2_rows
from scenarios.queues.under_test import Site


class DynoQueueMachine(QueueMachine):
    """dyno-queues with a shard in every zone. ``queue_class`` may be a subclass that is to be tried."""

    queue_class = DynoQueue

    def make_queue(self, site: Site) -> Queue:
        return v1_queue(site, queue_class=self.queue_class, unack_ms=self.lease_ms)

    async def holdings(self, zone: str, direct: Connection) -> Holdings | None:
        shards = {shard: shard for shard in self.zones}
        return await Holdings.of(v1_rows(direct, Keys(prefix=PREFIX, queue=NAME), shards, zone=zone))


class DynoV2QueueMachine(QueueMachine):
    """dyno-queues V2: in every zone a multi-shard queue that serves the zone's shard.

    ``queue_class`` may be a subclass of the shard's queue that is to be tried. An operation stops between pipelines.
    One that looks for ended leases reads a size and every bucket's leases before it does anything; it stops after that.
    """

    queue_class = PipelinedQueue
    commands: ClassVar[Mapping[str, int]] = {"push": 2, "pop": 10, "ack": 4, "process_unacks": 6}

    def courses(self, operation: str) -> st.SearchStrategy[Course]:
        drawn = super().courses(operation)
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
