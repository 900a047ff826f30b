"""Cost of a port that knows whose commands come: jobs a second at a program's own address and at the port's.

Prints one JSON document: jobs a second of both, in turns, and the ratio of each pair of turns with its interval. A job
is LPUSH, LMOVE and LREM on a list of its connection. Both addresses belong to one port, so that whatever else the
machine does meets both; ports and zones are in a process of their own.

    .venv/bin/python benchmarks/counted_port.py [--turns 24] [--seconds 1] [--connections 4] [--pipeline 16]
"""

import argparse
import asyncio
import json
import multiprocessing
import os
from multiprocessing.connection import Connection
from statistics import median

import uvloop
from environment import environment

from zonelab.analysis.statistics import mean_interval, quantile_interval
from zonelab.cluster.real.cluster import RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level

COMMANDS_PER_JOB = 3
_JOB = b"x" * 100


async def serve(level: Level, told: Connection) -> None:
    """Serve three zones until ``told`` says something; say both ports of zone a first."""
    cluster = PortedCluster(zones("process", ["a", "b", "c"]), RealSettings(seed=1), setting=level)
    async with cluster:
        own = await cluster.add_program("a", "worker-a-0")
        told.send((cluster.port("a").port, own.port))
        await asyncio.get_running_loop().run_in_executor(None, told.recv)
        told.send(cluster.ports["a"].program("worker-a-0").commands)


def served(level: Level, told: Connection) -> None:
    uvloop.run(serve(level, told))


async def jobs(port: int, number: int, *, pipeline: int, end_s: float) -> int:
    """Do jobs over one connection, ``pipeline`` at a time, and return how many were done by the time ``end_s``."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    waiting, active = b"waiting:%d" % number, b"active:%d" % number
    one = wire.command(b"LPUSH", waiting, _JOB) + wire.command(b"LMOVE", waiting, active, b"RIGHT", b"LEFT")
    one += wire.command(b"LREM", active, b"1", _JOB)
    answer = b":1\r\n" + wire.bulk(_JOB) + b":1\r\n"
    done, loop = 0, asyncio.get_running_loop()
    while loop.time() < end_s:
        writer.write(one * pipeline)
        got = await reader.readexactly(len(answer) * pipeline)
        assert got == answer * pipeline, got[:200]
        done += pipeline
    writer.close()
    return done


async def turn(port: int, options: argparse.Namespace) -> float:
    """Return the jobs a second over all connections to ``port``."""
    loop = asyncio.get_running_loop()
    begin_s = loop.time()
    runs = (
        jobs(port, number, pipeline=options.pipeline, end_s=begin_s + options.seconds)
        for number in range(options.connections)
    )
    return sum(await asyncio.gather(*runs)) / (loop.time() - begin_s)


async def measure(options: argparse.Namespace) -> dict[str, object]:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=served, args=(options.level, there))
    process.start()
    try:
        port, own = here.recv()
        await turn(port, options)
        await turn(own, options)
        plain, counted, loads = [], [], []
        for number in range(options.turns):
            order = ((port, plain), (own, counted))
            for at, rates in order if number % 2 else order[::-1]:
                rates.append(await turn(at, options))
            loads.append(os.getloadavg()[0])
        here.send("end")
        commands = here.recv()
    finally:
        process.join()
    ratios = [one / other for one, other in zip(counted, plain, strict=True)]
    mean = mean_interval(ratios)
    middle = quantile_interval(ratios, 0.5)
    return {
        "benchmark": "counted_port",
        **environment(),
        "level": options.level.value,
        "turns": options.turns,
        "connections": options.connections,
        "pipeline": options.pipeline,
        "load_average": round(median(loads), 1),
        "jobs_per_s": {"port": round(median(plain)), "own_address": round(median(counted))},
        "ratio": {
            "median": round(median(ratios), 3),
            "median_95": None if middle is None else [round(middle.low, 3), round(middle.high, 3)],
            "mean_95": None if mean is None else [round(mean.low, 3), round(mean.high, 3)],
        },
        "counted_commands": commands,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--pipeline", type=int, default=16)
    parser.add_argument("--level", type=Level, default=Level.DC_ONE)
    print(json.dumps(uvloop.run(measure(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
