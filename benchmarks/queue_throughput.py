"""Messages per second through push, pop and ack of each queue on three process zones without lag, at each level.

Every zone has producers, consumers and a queue instance of its own, all in one event loop. The rate counts messages
that went the whole way; the ratio is to the same queue under the same load on one plain server (one zone, no
coordinator) in the same run. Commands and round trips are counted where the queue hands them to its connections.

Engines and modes are those of ``zonelab engines``. Only dyno-v2, in all its modes, pushes and acknowledges in
batches; the others go message by message.

    .venv/bin/python benchmarks/queue_throughput.py [--engines dyno "dyno hardened"] [--messages 6000] [--repeat 3]
"""

import argparse
import asyncio
import json
import os
import statistics
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from environment import environment

from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno import DynoQueue
from zonelab.engine.dyno.hardened import HardenedQueue
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Command, Connection, Reply
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.queues.under_test import RunsServices, Wrap
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario

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
    """Traffic that the queues of one run sent, and the function that hears of each exchange, if there is one."""

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


async def ack_one_by_one(queue: Any, deliveries: Sequence[Delivery]) -> int:
    by_id = isinstance(queue, DynoQueue)
    return sum([await queue.ack(one.message.id if by_id else one) for one in deliveries])


async def ack_together(queue: MultiQueue | HardenedQueue, deliveries: Sequence[Delivery]) -> int:
    if isinstance(queue, HardenedQueue):
        return sum(await queue.ack_all(deliveries))
    return sum(await queue.ack_messages([delivery.message for delivery in deliveries]))


@dataclass(frozen=True)
class Engine:
    """One of the catalogue in one of its modes. ``batches``: it pushes and acknowledges many messages in a step."""

    name: str
    mode: str
    ack: Ack
    batches: bool

    @classmethod
    def of(cls, name: str, mode: str) -> "Engine":
        batches = name == "dyno-v2"
        return cls(name, mode, ack_together if batches else ack_one_by_one, batches)

    def scenario(self, setting: str, buckets: int | None) -> Scenario:
        """Return the scenario that its adapter reads. ``buckets``: for an engine that has any."""
        settings: dict[str, Any] = {"engine": self.name, "unack_ms": 60_000, "compat": self.mode == "compat"}
        settings["mode"] = "default" if self.mode == "compat" else self.mode
        fields = ENGINES[self.name].settings.model_fields
        settings |= {name: buckets for name in ("buckets", "ttr_buckets") if name in fields and buckets is not None}
        placed = {"zones": ["a"]} if setting == PLAIN else {"zones": list(ZONES)}
        level = Level.DC_ONE if setting == PLAIN else Level(setting)
        load = {"duration_s": 1, "rate_per_s": 1}
        told = {"name": "bench", "topology": placed, "level": level, "queue": settings, "load": load}
        told["drain"] = {"bound_s": 120}
        return scenario_of(told, source=Path(__file__).name)


CATALOGUE = {
    name if mode == "default" else f"{name} {mode}": Engine.of(name, mode)
    for name, one in ENGINES.items()
    for mode, shipped in one.modes.items()
    if not shipped.features.order  # those are handed to listeners: benchmarks/fifo_throughput.py
}


@asynccontextmanager
async def instances(
    cluster: RealCluster, engine: Engine, setting: str, sent: Sent, *, buckets: int | None = None
) -> AsyncIterator[list[Queue]]:
    """A queue object in each zone, for producers and consumers, on empty servers; with the engine's own programs."""
    for zone in ZONES:
        await cluster.direct(zone).execute(("FLUSHALL",))
    scenario = engine.scenario(setting, buckets)
    queue = queue_under_test(cluster, scenario)

    def through(zone: str) -> Wrap:
        plain = cluster.direct("a") if setting == PLAIN else None
        return lambda inner: Counting(plain or inner, sent, f"{zone} {type(inner).__name__}")

    async with AsyncExitStack() as programs:
        if isinstance(queue, RunsServices):
            for name, zone in scenario.services:
                await programs.enter_async_context(await queue.service(name, zone, through(zone)))
        yield [await queue.producer(zone, through(zone)) for zone in scenario.zones]


async def throughput(queues: Sequence[Queue], engine: Engine, load: Load, turn: str) -> tuple[int, float]:
    """Push, pop and ack all messages: how many, in how many seconds. Every queue object has its own programs.

    Ids begin with ``turn``, since a late write of one turn may arrive in the next. It ends ``PATIENCE_S`` after the
    last ack if messages are lost.
    """
    batch = load.push_batch if engine.batches else 1
    each = max(1, load.messages // (load.producers * len(queues) * batch)) * batch
    total = each * load.producers * len(queues)
    acked, last_s = 0, perf_counter()

    async def produce(one: Queue, first: int) -> None:
        for begin in range(first, first + each, batch):
            await one.push([Message(id=f"{turn}.{number}", payload=PAYLOAD) for number in range(begin, begin + batch)])

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


@dataclass
class Measured:
    rates: list[float]
    commands: list[float]
    round_trips: list[float]


async def measure(
    engines: Sequence[str], settings: Sequence[str], load: Load, *, repeat: int, buckets: int | None
) -> dict[str, Any]:
    """Engines and settings take turns, so that a busy moment of the machine falls on all of them."""
    measured = {(name, setting): Measured([], [], []) for name in engines for setting in settings}
    async with RealCluster(zones("process", ZONES), RealSettings(seed=1)) as cluster:
        for turn in range(repeat):
            for (name, setting), result in measured.items():
                sent, engine = Sent(), CATALOGUE[name]
                async with instances(cluster, engine, setting, sent, buckets=buckets) as queues:
                    total, seconds = await throughput(queues, engine, load, f"turn{turn}")
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
    parser.add_argument("--engines", nargs="+", choices=list(CATALOGUE), default=["dyno", "dyno-v2"])
    parser.add_argument("--settings", nargs="+", choices=settings, default=settings)
    parser.add_argument("--messages", type=int, default=6_000)
    parser.add_argument("--producers", type=int, default=10)
    parser.add_argument("--consumers", type=int, default=10)
    parser.add_argument("--push-batch", type=int, default=20)
    parser.add_argument("--pop-batch", type=int, default=20)
    parser.add_argument("--buckets", type=int, help="of the engines that have any; as the engine's own default")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    load = Load(options.messages, options.producers, options.consumers, options.push_batch, options.pop_batch)
    measuring = measure(options.engines, options.settings, load, repeat=options.repeat, buckets=options.buckets)
    results = uvloop.run(measuring)
    facts = {"benchmark": "queue_throughput", **vars(options), **environment(), "load_average": os.getloadavg()}
    print(json.dumps({**facts, "results": results}, indent=1))


if __name__ == "__main__":
    main()
