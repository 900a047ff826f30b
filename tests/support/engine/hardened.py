"""Hardened queues on a simulated cluster, for tests that look inside."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from support.engine.dyno import CuttingConnection

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import SingleZoneReads
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level
from zonelab.engine.common.timings import MetricsSource
from zonelab.engine.dyno.hardened import HardenedKeys, HardenedQueue, HardenedSettings
from zonelab.engine.gmq.hardened import HardenedDispatcher, HardenedGmqQueue
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Command, Connection

ZONES = ("a", "b", "c")
MS = 1_000_000
KEYS = HardenedKeys(prefix="test", queue="jobs")


def message(message_id: str = "m", **settings: Any) -> Message:
    return Message(id=message_id, payload="work", **settings)


async def leased(queue: HardenedQueue) -> Delivery:
    """A message that ``queue`` pushed and popped."""
    await queue.push([message()])
    (delivery,) = await queue.pop(1)
    return delivery


class HardenedLab:
    """Three zones, and as many queue instances as a test asks for."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self.runtime: SimRuntime = cluster.runtime
        self._instances = 0

    def queue(
        self,
        zone: str = "a",
        *,
        name: str = KEYS.queue,
        level: Level = Level.DC_QUORUM,
        metrics: MetricsSource | None = None,
        through: Callable[[Connection], Connection] = lambda connection: connection,
        **settings: Any,
    ) -> HardenedQueue:
        """``through``: what writes at ``level`` pass on their way."""
        self._instances += 1
        cluster, coordinator = self.cluster, self.cluster.coordinators[zone]
        chosen = {"lease_ms": 200, "margin_ms": 20, "keeper_interval_ms": 50, "grace_ms": 100, "takeover_ms": 300}
        return HardenedQueue(
            name,
            runtime=self.runtime,
            clock=cluster.clock(zone),
            quorum=through(cluster.connection(zone, level)),
            safe=cluster.connection(zone, Level.DC_SAFE_QUORUM),
            local=cluster.connection(zone, Level.DC_ONE),
            zones={name: SingleZoneReads(coordinator, name, runtime=self.runtime) for name in ZONES},
            settings=HardenedSettings(
                prefix=KEYS.prefix,
                shards=ZONES,
                shard=zone,
                instance=f"{zone}-{self._instances}",
                **{**chosen, **settings},
            ),
            strategy=Here(zone),
            metrics=metrics,
        )

    def run(self, program: Coroutine[Any, Any, Any]) -> Any:
        """Run ``program`` between start and stop of the zones."""

        async def whole() -> Any:
            async with self.cluster:
                return await program

        return self.runtime.run_until_complete(whole())

    async def sleep(self, ms: float) -> None:
        await self.runtime.sleep(round(ms * MS))

    async def ask(self, zone: str, *words: Any) -> Any:
        (reply,) = await self.cluster.direct(zone).execute(words)
        return reply

    async def take_elsewhere(self, zone: str, message_id: str, *, for_ms: int) -> None:
        """``zone`` thinks that another consumer of shard a has the message."""
        ends_ms = self.cluster.clock("a").now_ms() + for_ms
        await self.ask(zone, "HSET", KEYS.records, message_id, f"l a 1 1 1 {ends_ms} other")
        await self.ask(zone, "ZREM", KEYS.ready("a"), message_id)
        await self.ask(zone, "ZADD", KEYS.unack("a"), ends_ms, message_id)

    async def record(self, zone: str, message_id: str) -> str | None:
        raw = await self.ask(zone, "HGET", KEYS.records, message_id)
        return None if raw is None else raw.decode()

    async def statuses(self, message_id: str) -> list[str]:
        """First letters of the records, zone by zone; - where there is none."""
        return [(await self.record(zone, message_id) or "-")[0] for zone in ZONES]


class GmqLab(HardenedLab):
    """Instances of hardened gmq in place of queues."""

    topics = ("fast", "slow")

    def instance(self, zone: str = "a", *, at_most_once: bool = False, **settings: Any) -> HardenedGmqQueue:
        queues = {name: self.queue(zone, name=name, payloads_compared=True, **settings) for name in self.topics}
        return HardenedGmqQueue(queues, runtime=self.runtime, at_most_once=at_most_once)

    def dispatcher(self, zone: str) -> HardenedDispatcher:
        contexts = {name: self.queue(zone, name=name, payloads_compared=True)._context for name in self.topics}
        return HardenedDispatcher(f"{zone}-1", contexts)


class Here:
    """Shard of the message, else always the same."""

    def __init__(self, shard: str) -> None:
        self._shard = shard

    def next_shard(self, shards: Any, message: Message) -> str:
        return message.shard or self._shard


def commands_of(queue: HardenedQueue) -> list[tuple[str, tuple[Command, ...]]]:
    """What ``queue`` sends from now on: connection and commands of each round trip."""
    sent: list[tuple[str, tuple[Command, ...]]] = []
    steps = queue._steps
    for name in ("_level", "_local", "_deciding"):
        setattr(steps, name, CuttingConnection(getattr(steps, name), label=name, log=sent))
    return sent


@contextmanager
def hardened_lab(*, seed: int = 1) -> Iterator[HardenedLab]:
    yield HardenedLab(SimCluster(ZONES, SimSettings(seed=seed, timeouts=Timeouts(factor=0.1))))
