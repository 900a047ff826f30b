"""Cost of metrics for a queue: the time of one operation without them, with them, and of one scrape.

The operation is ``get`` of the pipelined queue on a connection that answers at once, so the whole of its time is the
queue's own. Turns alternate, and the least time of each counts, since a busy machine only adds.

    .venv/bin/python benchmarks/metrics_cost.py [--operations 500] [--turns 1000] [--queues 100]
"""

import argparse
import asyncio
import json
import os
from time import perf_counter

import uvloop
from environment import environment
from prometheus_client import CollectorRegistry, generate_latest

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.engine.common.prometheus import Metrics
from zonelab.engine.dyno.v2 import PipelinedQueue, PipelinedSettings
from zonelab.engine.ports import Command, Reply


class Instant:
    """A connection that knows no message."""

    async def execute(self, *commands: Command) -> list[Reply]:
        return [None] * len(commands)


def queue(metrics: Metrics | None, *, shard: str = "a") -> PipelinedQueue:
    runtime = RealRuntime(seed=1)
    connection = Instant()
    return PipelinedQueue(
        "jobs",
        runtime=runtime,
        clock=NodeClock(epoch_ns=0, run_ns=runtime.now_ns),
        quorum=connection,
        local=connection,
        settings=PipelinedSettings(prefix="bench", shard=shard),
        metrics=metrics,
    )


async def operation_ns(one: PipelinedQueue, *, operations: int, wrapped: bool = True) -> float:
    """Mean time of an operation; not ``wrapped``: past what asks whether there are metrics."""
    get = one.get if wrapped else PipelinedQueue.get.__wrapped__.__get__(one)  # type: ignore[attr-defined]
    begin = perf_counter()
    for _ in range(operations):
        await get("x")
    return (perf_counter() - begin) / operations * 1e9


async def scrape_ms(*, queues: int) -> float:
    metrics = Metrics()
    for number in range(queues):
        queue(metrics, shard=f"s{number}")
    registry = CollectorRegistry()
    registry.register(metrics)
    begin = perf_counter()
    generate_latest(registry)
    return (perf_counter() - begin) * 1e3


async def measure(*, operations: int, turns: int, queues: int) -> dict[str, float]:
    without, with_metrics = queue(None), queue(Metrics())
    turn_ns: dict[str, list[float]] = {"unwrapped_ns": [], "without_metrics_ns": [], "with_metrics_ns": []}
    for _ in range(turns):
        turn_ns["unwrapped_ns"].append(await operation_ns(without, operations=operations, wrapped=False))
        turn_ns["without_metrics_ns"].append(await operation_ns(without, operations=operations))
        turn_ns["with_metrics_ns"].append(await operation_ns(with_metrics, operations=operations))
        await asyncio.sleep(0)
    times = {name: round(min(values)) for name, values in turn_ns.items()}
    return {**times, "scrape_ms": round(await scrape_ms(queues=queues), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--queues", type=int, default=100)
    options = parser.parse_args()
    results = uvloop.run(measure(operations=options.operations, turns=options.turns, queues=options.queues))
    facts = {"benchmark": "metrics_cost", **vars(options), **environment(), "load_average": os.getloadavg()}
    print(json.dumps({**facts, "results": results}, indent=1))


if __name__ == "__main__":
    main()
