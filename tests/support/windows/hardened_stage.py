"""Where the courses of hardened mode are played."""

from typing import Any

from support.engine.dyno import SHARDS
from support.windows.stage import LEASE_MS, NAME, PREFIX, Stage, Wrap, X

from zonelab.cluster.coordinators.direct import SingleZoneReads
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import LocalOnly, ShardingStrategy
from zonelab.engine.dyno.hardened import HardenedQueue, HardenedSettings, Hardening
from zonelab.engine.message import Delivery

DRAIN_MS = 12_000
ROUND_MS = 250


class HardenedStage(Stage):
    """Its queues are hardened; one that is not started sends no heartbeat, as a program that stands still or died."""

    def __init__(self, *, without: tuple[Hardening, ...] = ()) -> None:
        super().__init__(compat=False)
        self._without = without
        self._instances = 0

    def hardened(
        self,
        zone: str = "a",
        *,
        wrap: Wrap = lambda connection: connection,
        strategy: ShardingStrategy | None = None,
    ) -> HardenedQueue:
        """``wrap`` is for the connections that write."""
        return HardenedQueue(NAME, strategy=strategy or LocalOnly(zone), **self.site(zone, wrap))

    def site(self, zone: str, wrap: Wrap) -> dict[str, Any]:
        """What a program of ``zone`` is given."""
        self._instances += 1
        coordinator = self.cluster.coordinators[zone]
        reads = {name: SingleZoneReads(coordinator, name, runtime=self.cluster.runtime) for name in SHARDS}
        settings = HardenedSettings(
            prefix=PREFIX,
            shards=SHARDS,
            shard=zone,
            instance=f"{zone}-{self._instances}",
            lease_ms=LEASE_MS,
            margin_ms=100,
            keeper_interval_ms=500,
            grace_ms=LEASE_MS,
            takeover_ms=2 * LEASE_MS,
            hold_max_ms=50 * LEASE_MS,
            without=self._without,
        )
        return {
            "runtime": self.cluster.runtime,
            "clock": self.cluster.clock(zone),
            "quorum": wrap(self.connection(zone, self.level)),
            "safe": wrap(self.connection(zone, Level.DC_SAFE_QUORUM)),
            "local": self.connection(zone, Level.DC_ONE),
            "zones": reads,
            "settings": settings,
        }

    async def pop(self, zone: str = "a", *, count: int = 1, wait_ms: int = 0) -> tuple[HardenedQueue, list[Delivery]]:
        """A new program's, which then does nothing."""
        queue = self.hardened(zone)
        return queue, await queue.pop(count, wait_ms=wait_ms)

    async def drain(self, *zones: str) -> str:
        """What programs in ``zones``, by default all, deliver and acknowledge from now on."""
        queues = [self.hardened(zone) for zone in zones or SHARDS]
        delivered: list[str] = []
        for queue in queues:
            await queue.start()
        for _ in range(DRAIN_MS // ROUND_MS):
            for queue in queues:
                got = await queue.pop(9)
                delivered += [delivery.message.id for delivery in got]
                assert all(await queue.ack_all(got))
            await self.sleep(ROUND_MS)
        for queue in queues:
            await queue.close()
        left = {zone: await self.content(zone) for zone in SHARDS}
        listed = [zone for zone, found in left.items() if found.waiting or found.unacked]
        return f"then delivered: {' '.join(sorted(delivered)) or 'nothing'}" + (
            f"; {listed} not empty" if listed else ""
        )


async def push(stage: HardenedStage, *, zone: str = "a") -> None:
    await stage.hardened(zone).push([X])


async def consume(stage: HardenedStage) -> None:
    """Pop and acknowledge one message."""
    consumer, (delivery,) = await stage.pop()
    assert await consumer.ack(delivery)
