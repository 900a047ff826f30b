"""Messages per second through fenced partitions, beside hardened dyno-queues, on three process zones without lag.

Every zone has producers and one member of the group, in one event loop. A message counts when the member that has its
partition was told that it is done; the clock stops when the cursor behind the last one is stored. There is no sink, and
listeners do nothing. One by one a producer pushes a message when the one before was confirmed, and a listener gets one
at a time; in batches both have ``--batch``. The ratios are to "dyno hardened" and "dyno-v2 hardened" as
``queue_throughput.py`` measures them, in turns with them.

    .venv/bin/python benchmarks/fifo_throughput.py [--messages 6000] [--repeat 3] [--producers 10]
"""

import argparse
import asyncio
import json
import os
import statistics
from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import uvloop
from environment import environment
from queue_throughput import CATALOGUE, PAYLOAD, ZONES, Load, Sent, instances, throughput

from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.votes.levels import Level
from zonelab.engine.fifo.consumer.listener import BatchContext, BatchMessage, ConsumeStatus
from zonelab.engine.fifo.events import NullObserver
from zonelab.engine.fifo.fenced.member.zones import FencedLogs
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Command, Connection, Reply
from zonelab.scenarios.queues.ordered.fifo_fenced import FencedUnderTest
from zonelab.scenarios.spec.reading import scenario_of

PATIENCE_S = 60
BESIDE = {"one by one": "dyno hardened", "batches": "dyno-v2 hardened"}


class Named:
    """``Connection`` that counts commands by what they are."""

    def __init__(self, inner: Connection, counts: Counter[str]) -> None:
        self._inner, self._counts = inner, counts

    async def execute(self, *commands: Command) -> list[Reply]:
        self._counts.update(str(command[0]) for command in commands)
        return await self._inner.execute(*commands)


async def fenced(cluster: RealCluster, options: argparse.Namespace, batch: int) -> tuple[float, dict[str, float]]:
    """Messages per second, and commands a message by name, reads of single zones and upkeep included."""
    for zone in ZONES:
        await cluster.direct(zone).execute(("FLUSHALL",))
    told = {
        "name": "bench",
        "topology": {"zones": list(ZONES)},
        "level": Level.DC_QUORUM,
        "queue": {"engine": "fifo", "mode": "fenced", "partitions": options.partitions, "profile": "original"},
        "consumers": {"batch": batch},
        "load": {"duration_s": 1, "rate_per_s": 1},
        "drain": {"bound_s": 120},
    }
    queue, counts = FencedUnderTest(cluster, scenario_of(told, source="fifo_throughput.py")), Counter[str]()
    done, total = (
        0,
        options.messages // (options.producers * len(ZONES) * batch) * batch * options.producers * len(ZONES),
    )
    finished = asyncio.Event()

    async def listen(delivered: Sequence[BatchMessage], _handling: BatchContext) -> ConsumeStatus:
        nonlocal done
        done += len(delivered)
        if done >= total:
            finished.set()
        return ConsumeStatus.SUCCESS

    def wrap(inner: Connection) -> Connection:
        return Named(inner, counts)

    members = [
        await queue.member(zone, wrap, name=f"consumer-{zone}-0", listener=listen, observer=NullObserver())
        for zone in ZONES
    ]
    for member in members:
        await member.start()
    while sum(len(member.owned) for member in members) < options.partitions:  # noqa: ASYNC110, nothing tells of it
        await asyncio.sleep(0.05)
    partitions = queue.partitions

    async def produce(zone: str, number: int) -> None:
        logs = queue.logs(zone, f"p-{zone}-{number}", wrap)
        assert isinstance(logs, FencedLogs)
        sequences: Counter[Partition] = Counter()
        for at in range(total // (options.producers * len(ZONES) * batch)):
            partition = partitions[(number + at) % len(partitions)]
            records = []
            for each in range(batch):
                sequences[partition] += 1
                name = f"{zone}{number}.{at}.{each}"
                records.append(
                    PartitionRecord(
                        id=name, key=name, body=PAYLOAD, producer=f"{zone}{number}", sequence=sequences[partition]
                    )
                )
            await logs.append_all(partition, records)

    counts.clear()
    begin = perf_counter()
    await asyncio.gather(*(produce(zone, number) for zone in ZONES for number in range(options.producers)))
    await asyncio.wait_for(finished.wait(), PATIENCE_S)
    took = perf_counter() - begin
    sent = {name: round(count / total, 2) for name, count in counts.most_common()}
    for member in members:
        await member.close()
    return total / took, sent


async def beside(cluster: RealCluster, name: str, options: argparse.Namespace, turn: int) -> float:
    load = Load(options.messages, options.producers, options.producers, options.batch, options.batch)
    async with instances(cluster, CATALOGUE[name], Level.DC_QUORUM.value, Sent()) as queues:
        total, seconds = await throughput(queues, CATALOGUE[name], load, f"turn{turn}")
    return total / seconds


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    rates: dict[str, list[float]] = {name: [] for way, other in BESIDE.items() for name in (way, other)}
    commands: dict[str, dict[str, float]] = {}
    async with RealCluster(zones("process", ZONES), RealSettings(seed=1)) as cluster:
        for turn in range(options.repeat):
            for way, other in BESIDE.items():
                rate, commands[way] = await fenced(cluster, options, options.batch if way == "batches" else 1)
                rates[way].append(rate)
                rates[other].append(await beside(cluster, other, options, turn))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        way: {
            "messages_per_s": [round(rate) for rate in sorted(rates[way])],
            other: [round(rate) for rate in sorted(rates[other])],
            "ratio": round(medians[way] / medians[other], 2),
            "commands_per_message": commands[way],
        }
        for way, other in BESIDE.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=6_000)
    parser.add_argument("--producers", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    results = uvloop.run(measure(options))
    facts = {"benchmark": "fifo_throughput", **vars(options), **environment(), "load_average": os.getloadavg()}
    print(json.dumps({**facts, "results": results}, indent=1))


if __name__ == "__main__":
    main()
