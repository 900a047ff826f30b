"""Quorum writes over three process zones without lag, as ratios to the same load on one plain server in the same run.

Prints one JSON document: for 1, 50 and 800 writes in flight the commands per second, p50 and p99 latency of both, and
the ratio, each as median and range over the repetitions. ``callback`` is the way of a server in front of the
coordinator: neither a task nor a promise a command, and commands that are packed already. ``cpu_us`` is the time of
this process a command, clients included; it depends less on what else the machine does.

    .venv/bin/python benchmarks/quorum_writes.py [--repeat 5]
"""

import argparse
import asyncio
import json
import statistics
from collections.abc import Awaitable, Callable
from time import perf_counter, process_time
from typing import cast

import hiredis
import uvloop
from environment import environment

from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.pipeline import Outcome
from zonelab.engine.ports import Connection

WRITES = {1: 5_000, 50: 50_000, 800: 80_000}
VALUE = b"x" * 100
KEYS = 5_000


Load = Callable[[int], Awaitable[list[float]]]
"""Writes with so many in flight; gives the latencies in milliseconds."""


def by_tasks(connection: Connection) -> Load:
    """SET of 100 bytes by closed-loop clients, a task each."""

    async def load(in_flight: int) -> list[float]:
        latencies_ms: list[float] = []

        async def client(number: int) -> None:
            for turn in range(WRITES[in_flight] // in_flight):
                begin = perf_counter()
                await connection.execute(("SET", f"key:{number}:{turn % 100}", VALUE))
                latencies_ms.append((perf_counter() - begin) * 1000)

        await asyncio.gather(*(client(number) for number in range(in_flight)))
        return latencies_ms

    return load


def by_callbacks(coordinator: Coordinator) -> Load:
    """The same by clients that send their next write from within the answer to the last."""
    commands = [("SET", f"key:{number}", VALUE) for number in range(KEYS)]
    packed = [cast(bytes, hiredis.pack_command(command)) for command in commands]  # type: ignore[arg-type]

    async def load(in_flight: int) -> list[float]:
        latencies_ms: list[float] = []
        ended = asyncio.get_running_loop().create_future()

        def client(number: int) -> None:
            left = WRITES[in_flight] // in_flight
            begin = 0.0

            def write() -> None:
                nonlocal left, begin
                left -= 1
                key = (number * 100 + left % 100) % KEYS
                begin = perf_counter()
                coordinator.submit(Level.DC_QUORUM, (commands[key],), written, packed=packed[key])

            def written(outcome: Outcome) -> None:
                latencies_ms.append((perf_counter() - begin) * 1000)
                if left:
                    write()
                elif len(latencies_ms) == WRITES[in_flight]:
                    ended.set_result(None)

            write()

        for number in range(in_flight):
            client(number)
        await ended
        return latencies_ms

    return load


async def measured(load: Load, *, in_flight: int) -> dict[str, float]:
    begin, begin_cpu = perf_counter(), process_time()
    latencies_ms = await load(in_flight)
    seconds, cpu = perf_counter() - begin, process_time() - begin_cpu
    cuts = statistics.quantiles(latencies_ms, n=100)
    writes = len(latencies_ms)
    return {"per_s": writes / seconds, "p50_ms": cuts[49], "p99_ms": cuts[98], "cpu_us": cpu / writes * 1e6}


def spread(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3), "max": round(max(values), 3)}


async def measure(*, repeat: int) -> dict[str, object]:
    results: dict[str, object] = {}
    async with RealCluster(zones("process", ["a", "b", "c"]), RealSettings(seed=1)) as cluster:
        loads = {
            "plain": by_tasks(cluster.direct("a")),
            "DC_QUORUM": by_tasks(cluster.connection("a", Level.DC_QUORUM)),
            "DC_QUORUM callback": by_callbacks(cluster.coordinators["a"]),
        }
        for in_flight in WRITES:
            rounds = [
                {name: await measured(load, in_flight=in_flight) for name, load in loads.items()} for _ in range(repeat)
            ]
            row: dict[str, object] = {}
            for name in loads:
                row[name] = {figure: spread([one[name][figure] for one in rounds]) for figure in rounds[0][name]}
                row[f"ratio of {name}"] = spread([one[name]["per_s"] / one["plain"]["per_s"] for one in rounds])
            del row["ratio of plain"]
            results[f"{in_flight} in flight"] = row
    return {"benchmark": "quorum_writes", "repeat": repeat, **environment(), "results": results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    print(json.dumps(uvloop.run(measure(repeat=parser.parse_args().repeat)), indent=1))


if __name__ == "__main__":
    main()
