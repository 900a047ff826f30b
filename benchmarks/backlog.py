"""Cost of a backlog in every engine and mode, on one process zone: memory a message, drain rate, worst lateness.

Consumers are away while messages pile up, half of them delayed by a second; then five consumers drain them. Memory is
what the server counts as used (``used_memory``), before and after, so it includes what the queue itself keeps. The
drain rate is a share of how many single SET commands the same connection carries in a second, measured just before.

    .venv/bin/python benchmarks/backlog.py [--messages 20000] [--payload 100] [--engine dyno gmq]
"""

import argparse
import asyncio
import json
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any

import uvloop
from environment import environment

from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import admin, zones
from zonelab.engine.message import Message
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.queues.under_test import RunsServices
from zonelab.scenarios.spec import reading
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.scenario import Scenario

CONSUMERS = 5
BATCH = 50
DELAY_MS = 1_000
LEASE_MS = 60_000
SETS = 2_000
POPPED = [name for name, one in ENGINES.items() if not any(mode.features.groups for mode in one.modes.values())]
"""Not those that hand their messages to groups of listeners."""
PATIENCE_S = 60
"""Time without a delivery that ends a drain."""


def one_zone(engine: str, mode: str) -> Scenario:
    chosen: dict[str, Any] = {"compat": True} if mode == "compat" else {"mode": mode}
    return reading.scenario_of(
        {
            "name": "backlog",
            "level": "DC_ONE",
            "topology": {"zones": ["a"]},
            "queue": {"engine": engine, "unack_ms": LEASE_MS, **chosen},
            "load": {"duration_s": 1, "rate_per_s": 0},
            "drain": {"bound_s": 100},
        },
        source="backlog",
    )


async def used_bytes(cluster: RealCluster) -> int:
    async with admin.admin_client(cluster.zones["a"].address) as client:
        return int((await admin.info(client, "memory"))["used_memory"])


async def sets_a_second(cluster: RealCluster) -> float:
    direct, begin = cluster.direct("a"), perf_counter()
    for number in range(SETS):
        await direct.execute(("SET", "benchmark", number))
    return SETS / (perf_counter() - begin)


async def drained(queues: list[Queue], due_s: dict[str, float]) -> tuple[int, float, float]:
    """Return the deliveries, the seconds from the first to the last, and the worst lateness in seconds."""
    begin = last = perf_counter()
    late_s, left = 0.0, dict(due_s)

    async def consume(queue: Queue) -> None:
        nonlocal last, late_s
        while left and perf_counter() - last < PATIENCE_S:
            for delivery in await queue.pop(BATCH, wait_ms=100):
                now = perf_counter()
                due = left.pop(delivery.message.id, None)
                if due is not None:
                    last, late_s = now, max(late_s, now - due)
                await queue.ack(delivery)

    await asyncio.gather(*(consume(queue) for queue in queues))
    return len(due_s) - len(left), last - begin, late_s


async def backlog(engine: str, mode: str, *, messages: int, payload: int) -> dict[str, Any]:
    async with RealCluster(zones("process", ["a"]), RealSettings(seed=1)) as cluster, AsyncExitStack() as stack:
        scenario = one_zone(engine, mode)
        queue = queue_under_test(cluster, scenario)
        if isinstance(queue, RunsServices):
            for name, zone in scenario.services:
                await stack.enter_async_context(await queue.service(name, zone, lambda connection: connection))
        rate = await sets_a_second(cluster)
        producer = await queue.producer("a", lambda connection: connection)
        before, due_s = await used_bytes(cluster), {}
        for first in range(0, messages, BATCH):
            delay_ms = DELAY_MS * (first // BATCH % 2)
            batch = [
                Message(id=f"m{number:08}", payload="x" * payload, timeout_ms=delay_ms)
                for number in range(first, min(first + BATCH, messages))
            ]
            await producer.push(batch)
            due_s |= dict.fromkeys((one.id for one in batch), perf_counter() + delay_ms / 1_000)
        await asyncio.sleep(2 * DELAY_MS / 1_000)  # all are due; the backlog is what it will be
        listed, used = (await queue.depth(next(iter(queue.shards)))).waiting, await used_bytes(cluster) - before
        consumers = [await queue.consumer("a", lambda connection: connection) for _ in range(CONSUMERS)]
        found, took_s, late_s = await drained(consumers, due_s)
        for consumer in consumers:
            await consumer.close()
        await producer.close()
    return {
        "engine": engine,
        "mode": mode,
        "listed": listed,
        "bytes_a_message": round(used / messages),
        "delivered": found,
        "delivered_a_second": round(found / took_s),
        "of_single_sets": round(found / took_s / rate, 3),
        "worst_lateness_s": round(late_s, 2),
    }


async def measure(engines: list[str], *, messages: int, payload: int) -> list[dict[str, Any]]:
    return [
        await backlog(name, mode, messages=messages, payload=payload)
        for name in engines
        for mode in ENGINES[name].modes
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--payload", type=int, default=100, help="bytes")
    parser.add_argument("--engine", nargs="+", choices=POPPED, default=POPPED)
    given = parser.parse_args()
    found = uvloop.run(measure(given.engine, messages=given.messages, payload=given.payload))
    print(json.dumps({"environment": environment(), "settings": vars(given), "engines": found}, indent=2))


if __name__ == "__main__":
    main()
