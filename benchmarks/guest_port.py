"""Jobs a second of queues of others on a plain server, through a port, and at a port that counts and records.

Prints one JSON document a guest: jobs a second at each of the three, in turns, and their ratios, pair by pair, with
intervals. A turn pushes all jobs with the guest's own producer and then has its own worker do them; jobs take no time.
Servers and ports are in a process of their own, the plain server is of the same kind as the zones'.

    .venv/bin/python benchmarks/guest_port.py [--guests bullmq,asynq] [--turns 24] [--jobs 1000] [--level DC_ONE]
"""

import argparse
import json
import multiprocessing
import os
import shlex
import subprocess
import tempfile
import time
from asyncio import get_running_loop
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import uvloop
from environment import environment

from zonelab.analysis.statistics import mean_interval, quantile_interval
from zonelab.cluster.real.cluster import RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.guests.environments import environment_of
from zonelab.scenarios.guests.guest import Guest, Role, load_guest
from zonelab.scenarios.programs.command_record import CommandRecord

PLACES = ("plain server", "port", "counted and recorded")
RATIOS = (("counted and recorded", "port"), ("port", "plain server"), ("counted and recorded", "plain server"))
DONE = '"ending"'


async def serve(level: Level, record: Path, told: Connection) -> None:
    """Serve a plain server and three zones until ``told`` says something; say the three ports of ``PLACES`` first."""
    cluster = PortedCluster(zones("process", ["a", "b", "c"]), RealSettings(seed=1), setting=level)
    async with zones("process", ["plain"]) as plain, cluster:
        own = await cluster.add_program("a", "guest")
        with closing(CommandRecord(record, wall_ns=time.time_ns, most=10**9)) as recorded:
            program = cluster.ports["a"].program("guest")
            program.listen(partial(recorded.connection, program="guest"))
            told.send((plain["plain"].address.port, cluster.port("a").port, own.port))
            await get_running_loop().run_in_executor(None, told.recv)
        told.send(program.commands)


def served(level: Level, record: Path, told: Connection) -> None:
    uvloop.run(serve(level, record, told))


def turn(guest: Guest, port: int, queue: str, jobs: int) -> float:
    """Push all jobs to ``queue``, then have them done, and return how many were so a second of both."""
    places = {**environment_of(guest).places, "url": f"redis://127.0.0.1:{port}"}
    producer, worker = (shlex.split(guest.programs[role]["command"].format(**places)) for role in Role)
    given = {"QUEUE": queue, "JOBS": str(jobs), "GAP_MS": "0", "WORK_MS": "0", "LOCK_MS": "30000"}
    env = {**os.environ, **given}
    pushed = subprocess.run(producer, env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    events = [json.loads(line) for line in pushed.stdout.splitlines()]
    took_ns = events[-1]["t_ns"] - events[0]["t_ns"]
    first_ns, left = 0, jobs
    with subprocess.Popen(worker, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            first_ns = first_ns or json.loads(line)["t_ns"]
            left -= DONE in line
            if not left:
                took_ns += json.loads(line)["t_ns"] - first_ns
                break
        process.terminate()
    assert not left, f"{guest.name}: {left} of {jobs} jobs were not done"
    return jobs * 1e9 / took_ns


def measure(guest: Guest, ports: Mapping[str, int], options: argparse.Namespace) -> dict[str, object]:
    """Measure in turns, each time in another order, after one turn of each that does not count."""
    rates: dict[str, list[float]] = {place: [] for place in PLACES}
    loads = []
    for number in range(options.turns + 1):
        first = number % len(PLACES)
        for place in (*PLACES[first:], *PLACES[:first]):
            rate = turn(guest, ports[place], f"{place.replace(' ', '-')}-{number}", options.jobs)
            if number:
                rates[place].append(rate)
        loads.append(os.getloadavg()[0])
    return {
        "guest": f"{guest.name} {guest.version}",
        "level": options.level.value,
        "turns": options.turns,
        "jobs": options.jobs,
        "load_average": round(median(loads), 1),
        "jobs_per_s": {place: round(median(rates[place])) for place in PLACES},
        "ratios": {f"{one} / {other}": ratio(rates[one], rates[other]) for one, other in RATIOS},
    }


def ratio(ones: Sequence[float], others: Sequence[float]) -> dict[str, object]:
    found = [one / other for one, other in zip(ones, others, strict=True)]
    middle, mean = quantile_interval(found, 0.5), mean_interval(found)
    return {
        "median": round(median(found), 3),
        "median_95": None if middle is None else [round(middle.low, 3), round(middle.high, 3)],
        "mean_95": None if mean is None else [round(mean.low, 3), round(mean.high, 3)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--guests", default="bullmq,asynq")
    parser.add_argument("--turns", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--level", type=Level, default=Level.DC_ONE)
    options = parser.parse_args()
    print(json.dumps(environment()))
    with tempfile.TemporaryDirectory(prefix="zonelab-guest-port-") as folder:
        here, there = multiprocessing.Pipe()
        started = (options.level, Path(folder) / "commands.jsonl", there)
        process = multiprocessing.get_context("spawn").Process(target=served, args=started)
        process.start()
        try:
            ports = dict(zip(PLACES, here.recv(), strict=True))
            for name in options.guests.split(","):
                print(json.dumps(measure(load_guest(name), ports, options), indent=1), flush=True)
        finally:
            here.send("end")
            process.join()
        print(json.dumps({"counted_commands": here.recv()}))


if __name__ == "__main__":
    main()
