"""The shipped dyno-queues engines as the queue under test."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from hypothesis import strategies as st

from engine.dyno import DynoQueue, DynoSettings, Keys
from engine.dyno.v2 import BUCKETS, PipelinedKeys, PipelinedQueue, PipelinedSettings
from engine.dyno.v2.multi import MultiQueue
from engine.ports import Connection
from engine.queue import Queue
from scenarios.properties.interruptions import Course, CrashBefore, StallBefore
from scenarios.properties.lab import Site
from scenarios.properties.machine import QueueMachine
from scenarios.properties.zone_contents import Holdings

PREFIX = "properties"
NAME = "jobs"


class DynoQueueMachine(QueueMachine):
    """dyno-queues with a shard in every zone. ``queue_class`` may be a subclass that is to be tried."""

    queue_class = DynoQueue

    def make_queue(self, site: Site) -> Queue:
        return self.queue_class(
            NAME,
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            local=site.local,
            settings=DynoSettings(prefix=PREFIX, shards=site.zones, shard=site.zone, unack_ms=self.lease_ms),
        )

    async def holdings(self, zone: str, direct: Connection) -> Holdings | None:
        keys = Keys(prefix=PREFIX, queue=NAME)
        commands: list[tuple[str | int, ...]] = [("HKEYS", keys.messages)]
        for shard in self.zones:
            commands += [("ZRANGE", keys.queue_of(shard), 0, -1), ("ZRANGE", keys.unack(shard), 0, -1)]
        payloads, *lists = [_ids(reply) for reply in await direct.execute(*commands)]
        return Holdings(
            payloads=payloads,
            waiting=dict(zip(self.zones, lists[::2], strict=True)),
            leased=dict(zip(self.zones, lists[1::2], strict=True)),
        )


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
        queues = {
            shard: self.queue_class(
                NAME,
                runtime=site.runtime,
                clock=site.clock,
                quorum=site.connection,
                local=site.local,
                settings=PipelinedSettings(prefix=PREFIX, shard=shard, unack_ms=self.lease_ms),
            )
            for shard in site.zones
        }
        return MultiQueue(NAME, shard=site.zone, queues=queues)

    async def holdings(self, zone: str, direct: Connection) -> Holdings | None:
        payloads: frozenset[str] = frozenset()
        waiting, leased = {}, {}
        for shard in self.zones:
            keys = PipelinedKeys(prefix=PREFIX, queue=NAME, shard=shard)
            replies = await direct.execute(
                ("ZRANGE", keys.waiting, 0, -1),
                *(("ZRANGE", key, 0, -1) for key in keys.leases),
                *(("HKEYS", key) for key in keys.payloads),
            )
            ids = [_ids(reply) for reply in replies]
            waiting[shard] = ids[0]
            leased[shard] = frozenset().union(*ids[1 : 1 + len(keys.leases)])
            payloads = payloads.union(*ids[1 + len(keys.leases) :])
        return Holdings(payloads=payloads, waiting=waiting, leased=leased)


def _after_reads(course: Course) -> Course:
    if isinstance(course, StallBefore | CrashBefore):
        return replace(course, command=course.command + 1 + BUCKETS)
    return course


def _ids(reply: Any) -> frozenset[str]:
    return frozenset(member.decode() for member in reply)
