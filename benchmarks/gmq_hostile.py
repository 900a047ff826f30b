"""A good client of the gmq service beside hostile ones: its latency, and what they cost the service.

The good client pushes 100 times a second, on an open loop. Beside it, one after the other, in a process of their own:
nobody; clients that send half a line and stay; one that sends lines of a gigabyte; requests of wrong kinds; connections
that are opened and closed; 10,000 that stay idle, of which ``clients_max`` are kept. At the end of each, a newcomer
connects and pushes, again until it is answered.

    .venv/bin/python benchmarks/gmq_hostile.py [--seconds 10] [--connections 10000]
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import resource
import statistics
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from environment import environment
from gmq_service import service_on

from zonelab.app.gmq_service.clients import GmqClient
from zonelab.cluster.real.zones import ProcessZone, ZoneSet

RATE_PER_S = 100
HALF_LINES = 1_000
GIGABYTE = 1 << 30
_PIECE = b"x" * (1 << 16)
_AT_ONCE = 50

BEGIN_S = 3
"""After so long an attack is in full swing."""

_FORKED = multiprocessing.get_context("spawn")

Attack = Callable[[int, int], Awaitable[None]]


async def half_lines(port: int, connections: int) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(min(HALF_LINES, connections)):
            writer = await opened(port, stack)
            writer.write(b'{"method":"Service.Push","params":[{"id":"' + b"x" * 1_000)
        await asyncio.sleep(3600)


async def gigabyte(port: int, connections: int) -> None:
    """Again whenever it is closed."""
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b'{"method":"')
            for _ in range(GIGABYTE // len(_PIECE)):
                writer.write(_PIECE)
                await writer.drain()
            writer.close()


async def wrong_kinds(port: int, connections: int) -> None:
    """Push as many as it answers, one at a time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        writer.write(b'{"method":"Service.Push","params":[{"id":5}],"id":1}\n{"method":"No.Such","id":2}\n')
        await reader.readline()
        await reader.readline()


async def short(port: int, connections: int) -> None:
    async def come_and_go() -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
            await asyncio.sleep(0.01)

    await asyncio.gather(*(come_and_go() for _ in range(_AT_ONCE)))


async def idle(port: int, connections: int) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(connections):
            await opened(port, stack)
        await asyncio.sleep(3600)


async def opened(port: int, stack: contextlib.AsyncExitStack) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    stack.callback(writer.close)
    return writer


ATTACKS: dict[str, Attack] = {
    "half lines": half_lines,
    "a line of a gigabyte": gigabyte,
    "wrong kinds": wrong_kinds,
    "short connections": short,
    "idle connections": idle,
}


async def good(client: GmqClient, name: str, seconds: float) -> list[float]:
    """Latencies in ms, from the moment at which each request was due."""
    latencies: list[float] = []

    async def one(number: int, due_s: float) -> None:
        await client.push(f"{name}-{number}", topic="good", ttr_s=0)
        latencies.append((perf_counter() - due_s) * 1e3)

    begin_s, tasks = perf_counter(), []
    for number in range(int(seconds * RATE_PER_S)):
        due_s = begin_s + number / RATE_PER_S
        await asyncio.sleep(max(0.0, due_s - perf_counter()))
        tasks.append(asyncio.create_task(one(number, due_s)))
    await asyncio.gather(*tasks)
    return latencies


async def newcomer(address: str, name: str) -> dict[str, Any]:
    """Return how often a new client is sent away, and how long it takes until its push is answered."""
    begin_s, refused = perf_counter(), 0
    while True:
        try:
            async with GmqClient(address) as client:
                await client.push(f"{name}-newcomer", topic="good", ttr_s=0)
        except OSError:
            refused += 1
            await asyncio.sleep(0.05)
        else:
            return {"newcomer_refused": refused, "newcomer_ms": round((perf_counter() - begin_s) * 1e3, 2)}


def cost(pid: int) -> dict[str, Any]:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {
        "resident_mb_max": int(status["VmHWM"].split()[0]) // 1024,
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
    }


async def measured(seconds: float, connections: int) -> dict[str, Any]:
    told: dict[str, Any] = {}
    zone = ProcessZone("hostile")
    async with ZoneSet([zone]), service_on(zone.address.port, "default") as facts:
        port, pid = int(facts["rpc"].rpartition(":")[2]), facts["pid"]
        async with GmqClient(facts["rpc"]) as client:
            for name, attack in {"nobody": None, **ATTACKS}.items():
                attacking = _FORKED.Process(target=attacked, args=(name, port, connections)) if attack else None
                if attacking is not None:
                    attacking.start()
                    await asyncio.sleep(BEGIN_S)
                latencies = await good(client, name, seconds)
                p99_ms = statistics.quantiles(latencies, n=100)[98]
                told[name] = {
                    "p50_ms": round(statistics.median(latencies), 2),
                    "p99_ms": round(p99_ms, 2),
                    **await newcomer(facts["rpc"], name),
                    **cost(pid),
                }
                if attacking is not None:
                    attacking.kill()
                    attacking.join()
        told["log"] = lines_of(Path(facts["log"]))
    return told


def lines_of(log: Path) -> dict[str, int]:
    lines = log.read_text().splitlines()
    kinds = ("refused", "no_request", "request_bytes_max", "not_json")
    return {kind: sum(kind in line for line in lines) for kind in kinds}


def attacked(name: str, port: int, connections: int) -> None:
    """In a process of its own, until it is killed."""
    uvloop.run(ATTACKS[name](port, connections))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=10_000)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, options.connections + 500), hard))
    results = uvloop.run(measured(options.seconds, options.connections))
    facts = {"benchmark": "gmq_hostile", **vars(options), **environment(), "load_average": os.getloadavg()}
    print(json.dumps({**facts, "results": results}, indent=1))


if __name__ == "__main__":
    main()
