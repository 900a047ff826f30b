"""The shipped dyno-queues engine as the queue under test."""

from typing import Any

from engine.dyno import DynoQueue, DynoSettings, Keys
from engine.ports import Connection
from scenarios.properties.holdings import Holdings
from scenarios.properties.machine import QueueMachine
from scenarios.properties.queue import Queue, Site

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


def _ids(reply: Any) -> frozenset[str]:
    return frozenset(member.decode() for member in reply)
