"""Messages per second through push, pop and ack of dyno-queues V1 on three process zones without lag, at each level.

Every zone has producers, consumers and a queue instance of its own, all in one event loop. The rate counts messages
that went the whole way; the ratio is to the same load on one plain server (one zone, no coordinator) in the same run.

    .venv/bin/python benchmarks/queue_throughput.py [--messages 6000] [--repeat 3]
"""

import argparse
import asyncio
import json
import statistics
from time import perf_counter

import uvloop
from environment import environment

from cluster.levels import Level
from cluster.real.cluster import RealCluster, RealSettings
from cluster.real.zones import zones
from engine.dyno import DynoQueue, DynoSettings
from engine.message import Message
from engine.ports import Connection

PRODUCERS = 10
CONSUMERS = 10
BATCH = 20
_turn = 0


def queue(
    cluster: RealCluster, shard: str, shards: tuple[str, ...], quorum: Connection, local: Connection
) -> DynoQueue:
    settings = DynoSettings(prefix="bench", shards=shards, shard=shard)
    return DynoQueue(
        f"turn{_turn}",
        runtime=cluster.runtime,
        clock=cluster.clock(shard),
        quorum=quorum,
        local=local,
        settings=settings,
    )


async def throughput(queues: list[DynoQueue], *, messages: int) -> float:
    """Push, pop and ack ``messages`` messages; every queue object has its own producers and consumers."""
    acked = 0

    async def produce(one: DynoQueue, first: int, count: int) -> None:
        for number in range(first, first + count):
            await one.push([Message(id=f"m{number}", payload="x" * 100)])

    async def consume(one: DynoQueue) -> None:
        nonlocal acked
        while acked < messages:
            for delivery in await one.pop(BATCH):
                done = await one.ack(delivery.message.id)
                acked += done

    each = messages // (PRODUCERS * len(queues))
    producers = [
        produce(one, (position * PRODUCERS + number) * each, each)
        for position, one in enumerate(queues)
        for number in range(PRODUCERS)
    ]
    messages = each * len(producers)
    begin = perf_counter()
    await asyncio.gather(*producers, *(consume(one) for one in queues for _ in range(CONSUMERS)))
    return messages / (perf_counter() - begin)


async def measure(*, messages: int, repeat: int) -> dict[str, object]:
    global _turn
    rates: dict[str, list[float]] = {"plain": [], **{level.value: [] for level in Level}}
    names = ("a", "b", "c")
    async with RealCluster(zones("process", names), RealSettings(seed=1)) as cluster:
        for _ in range(repeat):
            for setting in rates:
                _turn += 1
                if setting == "plain":
                    plain = cluster.direct("a")
                    queues = [queue(cluster, "a", ("a",), plain, plain)]
                else:
                    queues = [
                        queue(
                            cluster,
                            name,
                            names,
                            cluster.connection(name, Level(setting)),
                            cluster.connection(name, Level.DC_ONE),
                        )
                        for name in names
                    ]
                rates[setting].append(await throughput(queues, messages=messages))
    results = {
        setting: {
            "messages_per_s": {
                "median": round(statistics.median(values)),
                "min": round(min(values)),
                "max": round(max(values)),
            },
            "ratio_to_plain": round(statistics.median(values) / statistics.median(rates["plain"]), 3),
        }
        for setting, values in rates.items()
    }
    return {
        "benchmark": "queue_throughput",
        "messages": messages,
        "repeat": repeat,
        **environment(),
        "results": results,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=6_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(uvloop.run(measure(messages=options.messages, repeat=options.repeat)), indent=1))


if __name__ == "__main__":
    main()
