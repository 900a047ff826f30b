"""Messages per second through push, pop and ack of each queue on three process zones without lag, at each level.

Every zone has producers, consumers and a queue instance of its own, all in one event loop. The rate counts messages
that went the whole way; the ratio is to the same queue under the same load on one plain server (one zone, no
coordinator) in the same run. Commands and round trips are counted where the queue hands them to its connections.

V1 sends one command a round trip, so its producers push message by message; the other queues push in batches.

    .venv/bin/python benchmarks/queue_throughput.py [--engines dyno dyno-v2] [--messages 6000] [--repeat 3]
"""

import argparse
import asyncio
import json
import os
import statistics
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import uvloop
from environment import environment

from cluster.coordinators.direct import SingleZoneReads
from cluster.real.cluster import RealCluster, RealSettings
from cluster.real.zones import zones
from cluster.votes.levels import Level
from engine.dyno import DynoQueue, DynoSettings
from engine.dyno.hardened import HardenedQueue, HardenedSettings
from engine.dyno.v2 import PipelinedQueue, PipelinedSettings
from engine.dyno.v2.multi import MultiQueue
from engine.gmq import Channel, GmqDispatcher, GmqQueue, GmqSettings, Handed
from engine.message import Delivery, Message
from engine.ports import Command, Connection, Reply
from engine.queue import Queue

ZONES = ("a", "b", "c")
PAYLOAD = "x" * 100
PLAIN = "plain"
PATIENCE_S = 5


@dataclass(frozen=True)
class Load:
    """Producers and consumers of each zone; messages a push and a pop."""

    messages: int
    producers: int
    consumers: int
    push_batch: int
    pop_batch: int


@dataclass
class Sent:
    """What the queues of one run handed to their connections, and ``hear`` of each exchange, if anybody listens."""

    commands: int = 0
    round_trips: int = 0
    hear: Callable[["Exchange"], None] | None = None


@dataclass(frozen=True)
class Exchange:
    """Commands that went over the connection ``over``, and the replies or the error, with seconds of perf_counter."""

    over: str
    sent_s: float
    answered_s: float
    commands: tuple[Command, ...]
    replies: Sequence[Reply] | BaseException


class Counting:
    """``Connection`` that counts what it carries."""

    def __init__(self, inner: Connection, sent: Sent, over: str) -> None:
        self._inner = inner
        self._sent = sent
        self._over = over

    async def execute(self, *commands: Command) -> list[Reply]:
        self._sent.commands += len(commands)
        self._sent.round_trips += 1
        if self._sent.hear is None:
            return await self._inner.execute(*commands)
        sent_s = perf_counter()
        try:
            replies = await self._inner.execute(*commands)
        except BaseException as error:
            self._sent.hear(Exchange(self._over, sent_s, perf_counter(), commands, error))
            raise
        self._sent.hear(Exchange(self._over, sent_s, perf_counter(), commands, replies))
        return replies


Ack = Callable[[Any, Sequence[Delivery]], Any]


@dataclass(frozen=True)
class Site:
    """Where a queue instance lives."""

    cluster: RealCluster
    name: str
    shard: str
    shards: tuple[str, ...]
    quorum: Connection
    local: Connection
    safe: Connection
    zones: Mapping[str, Connection]
    """For reading one zone alone."""


def dyno(site: Site, *, compat: bool = False) -> DynoQueue:
    return DynoQueue(
        site.name,
        runtime=site.cluster.runtime,
        clock=site.cluster.clock(site.shard),
        quorum=site.quorum,
        local=site.local,
        settings=DynoSettings(prefix="bench", shards=site.shards, shard=site.shard, compat=compat),
    )


def dyno_v2(site: Site, *, compat: bool = False) -> MultiQueue:
    queues = {
        shard: PipelinedQueue(
            site.name,
            runtime=site.cluster.runtime,
            clock=site.cluster.clock(site.shard),
            quorum=site.quorum,
            local=site.local,
            settings=PipelinedSettings(prefix="bench", shard=shard, compat=compat),
        )
        for shard in site.shards
    }
    return MultiQueue(site.name, shard=site.shard, queues=queues)


def hardened(site: Site) -> HardenedQueue:
    return HardenedQueue(
        site.name,
        runtime=site.cluster.runtime,
        clock=site.cluster.clock(site.shard),
        quorum=site.quorum,
        safe=site.safe,
        local=site.local,
        zones=site.zones,
        settings=HardenedSettings(prefix="bench", shards=site.shards, shard=site.shard, instance=site.shard),
    )


class DispatchedQueue(GmqQueue):
    """A gmq queue with a dispatcher of its own, as the original's one process has it."""

    def __init__(self, site: Site, settings: GmqSettings) -> None:
        runtime, clock = site.cluster.runtime, site.cluster.clock(site.shard)
        cards = Channel[Handed](runtime)
        super().__init__(runtime=runtime, clock=clock, quorum=site.quorum, cards=cards, settings=settings)
        self.dispatcher = GmqDispatcher(
            site.shard, runtime=runtime, clock=clock, quorum=site.quorum, cards=cards, settings=settings
        )


def gmq(site: Site, *, buckets: int = 3, compat: bool = False) -> DispatchedQueue:
    settings = GmqSettings(prefix=site.name, buckets=buckets, ttr_buckets=buckets, compat=compat)
    return DispatchedQueue(site, settings)


@asynccontextmanager
async def dispatched(queues: Sequence[Queue]) -> AsyncIterator[None]:
    """With the dispatchers of those that have one."""
    async with AsyncExitStack() as stack:
        for queue in queues:
            if isinstance(queue, DispatchedQueue):
                await stack.enter_async_context(queue.dispatcher)
        yield


async def ack_one_by_one(queue: DynoQueue, deliveries: Sequence[Delivery]) -> int:
    return sum([await queue.ack(delivery.message.id) for delivery in deliveries])


async def ack_together(queue: MultiQueue, deliveries: Sequence[Delivery]) -> int:
    return sum(await queue.ack_messages([delivery.message for delivery in deliveries]))


async def ack_deliveries_one_by_one(queue: HardenedQueue | GmqQueue, deliveries: Sequence[Delivery]) -> int:
    return sum([await queue.ack(delivery) for delivery in deliveries])


async def ack_deliveries(queue: HardenedQueue, deliveries: Sequence[Delivery]) -> int:
    return sum(await queue.ack_all(deliveries))


@dataclass(frozen=True)
class Engine:
    make: Callable[[Site], Queue]
    ack: Ack
    batches: bool


ENGINES = {
    "dyno": Engine(dyno, ack_one_by_one, batches=False),
    "dyno compat": Engine(lambda site: dyno(site, compat=True), ack_one_by_one, batches=False),
    "dyno-v2": Engine(dyno_v2, ack_together, batches=True),
    "hardened": Engine(hardened, ack_deliveries_one_by_one, batches=False),
    "hardened-v2": Engine(hardened, ack_deliveries, batches=True),
    "gmq": Engine(gmq, ack_deliveries_one_by_one, batches=False),
    "gmq compat": Engine(lambda site: gmq(site, compat=True), ack_deliveries_one_by_one, batches=False),
    "gmq 1 bucket": Engine(lambda site: gmq(site, buckets=1), ack_deliveries_one_by_one, batches=False),
    "gmq 8 buckets": Engine(lambda site: gmq(site, buckets=8), ack_deliveries_one_by_one, batches=False),
    "dyno-v2 compat": Engine(lambda site: dyno_v2(site, compat=True), ack_together, batches=True),
}


async def throughput(queues: Sequence[Queue], engine: Engine, load: Load) -> tuple[int, float]:
    """Push, pop and ack all messages: how many, in how many seconds. Every queue object has its own programs.

    It ends ``PATIENCE_S`` after the last ack if messages are lost.
    """
    batch = load.push_batch if engine.batches else 1
    each = max(1, load.messages // (load.producers * len(queues) * batch)) * batch
    total = each * load.producers * len(queues)
    acked, last_s = 0, perf_counter()

    async def produce(one: Queue, first: int) -> None:
        for begin in range(first, first + each, batch):
            await one.push([Message(id=f"m{number}", payload=PAYLOAD) for number in range(begin, begin + batch)])

    async def consume(one: Queue) -> None:
        nonlocal acked, last_s
        while acked < total and perf_counter() - last_s < PATIENCE_S:
            deliveries = await one.pop(load.pop_batch, wait_ms=0)
            done = await engine.ack(one, deliveries) if deliveries else 0
            acked += done  # read after the await: others count meanwhile
            last_s = perf_counter() if done else last_s

    producers = [
        produce(one, (position * load.producers + number) * each)
        for position, one in enumerate(queues)
        for number in range(load.producers)
    ]
    begin = perf_counter()
    await asyncio.gather(*producers, *(consume(one) for one in queues for _ in range(load.consumers)))
    return acked, last_s - begin


def instances(cluster: RealCluster, engine: Engine, setting: str, name: str, sent: Sent) -> list[Queue]:
    if setting == PLAIN:
        plain = Counting(cluster.direct("a"), sent, PLAIN)
        return [engine.make(Site(cluster, name, "a", ("a",), plain, plain, plain, {"a": plain}))]
    return [engine.make(site(cluster, zone, setting, name, sent)) for zone in ZONES]


def site(cluster: RealCluster, zone: str, setting: str, name: str, sent: Sent) -> Site:
    quorum, local, safe = (
        Counting(cluster.connection(zone, level), sent, f"{zone} {level}")
        for level in (Level(setting), Level.DC_ONE, Level.DC_SAFE_QUORUM)
    )
    coordinator = cluster.coordinators[zone]
    reads = {
        one: Counting(SingleZoneReads(coordinator, one, runtime=cluster.runtime), sent, f"{zone} reads {one}")
        for one in ZONES
    }
    return Site(cluster, name, zone, ZONES, quorum, local, safe, reads)


@dataclass
class Measured:
    rates: list[float]
    commands: list[float]
    round_trips: list[float]


async def measure(engines: Sequence[str], settings: Sequence[str], load: Load, *, repeat: int) -> dict[str, Any]:
    """Engines and settings take turns, so that a busy moment of the machine falls on all of them."""
    measured = {(name, setting): Measured([], [], []) for name in engines for setting in settings}
    async with RealCluster(zones("process", ZONES), RealSettings(seed=1)) as cluster:
        for turn in range(repeat):
            for (name, setting), result in measured.items():
                sent = Sent()
                queue_name = f"turn{turn}.{name.replace(' ', '-')}.{setting}"
                queues = instances(cluster, ENGINES[name], setting, queue_name, sent)
                async with dispatched(queues):
                    total, seconds = await throughput(queues, ENGINES[name], load)
                result.rates.append(total / seconds)
                result.commands.append(sent.commands / total)
                result.round_trips.append(sent.round_trips / total)
    return {name: {setting: report(measured, name, setting) for setting in settings} for name in engines}


def report(measured: dict[tuple[str, str], Measured], name: str, setting: str) -> dict[str, Any]:
    mine = measured[name, setting]
    plain = measured.get((name, PLAIN))
    return {
        "messages_per_s": {
            "median": round(statistics.median(mine.rates)),
            "min": round(min(mine.rates)),
            "max": round(max(mine.rates)),
        },
        "ratio_to_plain": plain and round(statistics.median(mine.rates) / statistics.median(plain.rates), 3),
        "commands_per_message": round(statistics.median(mine.commands), 2),
        "round_trips_per_message": round(statistics.median(mine.round_trips), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    settings = [PLAIN, *(level.value for level in Level)]
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=["dyno", "dyno-v2"])
    parser.add_argument("--settings", nargs="+", choices=settings, default=settings)
    parser.add_argument("--messages", type=int, default=6_000)
    parser.add_argument("--producers", type=int, default=10)
    parser.add_argument("--consumers", type=int, default=10)
    parser.add_argument("--push-batch", type=int, default=20)
    parser.add_argument("--pop-batch", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    load = Load(options.messages, options.producers, options.consumers, options.push_batch, options.pop_batch)
    results = uvloop.run(measure(options.engines, options.settings, load, repeat=options.repeat))
    facts = {"benchmark": "queue_throughput", **vars(options), **environment(), "load_average": os.getloadavg()}
    print(json.dumps({**facts, "results": results}, indent=1))


if __name__ == "__main__":
    main()
