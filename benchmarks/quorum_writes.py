"""Quorum writes over three process zones without lag, as ratios to the same load on one plain server in the same run.

Prints one JSON document: for 1, 50 and 800 writes in flight the commands per second, p50 and p99 latency of both, and
the ratio, each as median and range over the repetitions.

    .venv/bin/python benchmarks/quorum_writes.py [--repeat 5]
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
from engine.ports import Connection

WRITES = {1: 5_000, 50: 50_000, 800: 80_000}
VALUE = b"x" * 100


async def load(connection: Connection, *, in_flight: int) -> dict[str, float]:
    """SET of 100 bytes by ``in_flight`` closed-loop clients."""
    each = WRITES[in_flight] // in_flight
    latencies_ms: list[float] = []

    async def client(number: int) -> None:
        for turn in range(each):
            begin = perf_counter()
            await connection.execute(("SET", f"key:{number}:{turn % 100}", VALUE))
            latencies_ms.append((perf_counter() - begin) * 1000)

    begin = perf_counter()
    await asyncio.gather(*(client(number) for number in range(in_flight)))
    rate = each * in_flight / (perf_counter() - begin)
    cuts = statistics.quantiles(latencies_ms, n=100)
    return {"per_s": rate, "p50_ms": cuts[49], "p99_ms": cuts[98]}


def spread(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3), "max": round(max(values), 3)}


async def measure(*, repeat: int) -> dict[str, object]:
    results: dict[str, object] = {}
    async with RealCluster(zones("process", ["a", "b", "c"]), RealSettings(seed=1)) as cluster:
        plain, quorum = cluster.direct("a"), cluster.connection("a", Level.DC_QUORUM)
        for in_flight in WRITES:
            rounds = [
                (await load(plain, in_flight=in_flight), await load(quorum, in_flight=in_flight)) for _ in range(repeat)
            ]
            results[f"{in_flight} in flight"] = {
                "plain": {name: spread([one[name] for one, _ in rounds]) for name in rounds[0][0]},
                "DC_QUORUM": {name: spread([other[name] for _, other in rounds]) for name in rounds[0][1]},
                "ratio": spread([other["per_s"] / one["per_s"] for one, other in rounds]),
            }
    return {"benchmark": "quorum_writes", "repeat": repeat, **environment(), "results": results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    print(json.dumps(uvloop.run(measure(repeat=parser.parse_args().repeat)), indent=1))


if __name__ == "__main__":
    main()
