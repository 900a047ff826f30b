"""Push, pop and ack a second through the gmq service, beside its engine in process and plain LPUSH and BRPOP.

Clients send one request at a time, each on a connection of its own; all of them are one process, the service is
another, the server a third. Plain commands are sent by the same clients in the same way. Everything takes turns, so
that a busy moment of the machine falls on all. Beside each rate stands the processor time that the service took for one
request, which says what it could do with a core for itself. ``aim_per_s`` is the median of gmq v1.0
(docs/gmq-service.md), less 30 % for 10 and 50 clients, times 0.4 for one.

    .venv/bin/python benchmarks/gmq_service.py [--requests 3000] [--repeat 3] [--clients 1 10 50] [--mode default]
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import hiredis
import uvloop
from environment import environment

from zonelab.app.gmq_service.backend.listed import ListedJobs
from zonelab.app.gmq_service.backend.pool import Pool
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.real.zones import ProcessZone, ZoneSet
from zonelab.engine.gmq.jobs import Job
from zonelab.engine.gmq.settings import GmqSettings

BODY = "x" * 32
TOPIC = "bench"
ORIGINAL = {
    "push": {1: 4_600, 10: 3_400, 50: 3_800},
    "pop": {1: 4_200, 10: 3_400, 50: 2_800},
    "ack": {1: 9_600, 10: 6_400, 50: 5_400},
}
SHARE = {1: 0.4, 10: 0.7, 50: 0.7}
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Exchange(asyncio.Protocol):
    """One connection that sends one request after the other; ``ends`` says whether bytes are a whole reply."""

    def __init__(self, requests: Sequence[bytes], ends: Callable[[bytes], bool], done: Callable[[bytes], None]) -> None:
        self._requests, self._ends, self._done = iter(requests), ends, done
        self._reply = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._reply += data
        if self._ends(self._reply):
            reply, self._reply = self._reply, b""
            self._done(reply)
            self._next()

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
        else:
            self._transport.write(request)


async def exchanged(port: int, each: Sequence[Sequence[bytes]], ends: Callable[[bytes], bool], good: bytes) -> float:
    """Seconds that ``each`` client's requests took together. Raises ``RuntimeError`` for a reply without ``good``."""
    loop = asyncio.get_running_loop()
    left, over, bad = sum(map(len, each)), loop.create_future(), []

    def done(reply: bytes) -> None:
        nonlocal left
        left -= 1
        if good not in reply:
            bad.append(reply)
        if not left:
            over.set_result(None)

    begin_s = perf_counter()
    for requests in each:
        await loop.create_connection(lambda mine=requests: Exchange(mine, ends, done), "127.0.0.1", port)
    await over
    if bad:
        raise RuntimeError(f"{len(bad)} replies such as {bad[0]!r}")
    return perf_counter() - begin_s


def is_line(reply: bytes) -> bool:
    return reply.endswith(b"\n")


def is_resp(reply: bytes) -> bool:
    """A number, or an array of two bulk strings."""
    return reply.endswith(b"\r\n") and (reply[:1] != b"*" or reply.count(b"\r\n") == 5)


def call(method: str, argument: Any) -> bytes:
    return json.dumps({"method": f"Service.{method}", "params": [argument], "id": 1}).encode() + b"\n"


def job_argument(job_id: str) -> dict[str, str]:
    return {"id": job_id, "topic": TOPIC, "body": BODY, "delay": "0", "TTR": "60"}


def ids_of(turn: str, clients: int, requests: int) -> list[list[str]]:
    return [[f"{turn}-{client}-{number}" for number in range(requests // clients)] for client in range(clients)]


class Figures:
    """Rates and the service's processor time a request, by what was done and by how many clients."""

    def __init__(self) -> None:
        self.rates: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        self.processor_us: defaultdict[tuple[str, int], list[float]] = defaultdict(list)

    async def take(self, what: str, clients: int, requests: int, pid: int, work: Awaitable[float]) -> None:
        before_s = processor_s(pid)
        seconds = await work
        self.rates[what, clients].append(requests / seconds)
        self.processor_us[what, clients].append((processor_s(pid) - before_s) / requests * 1e6)


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


async def plain(server_port: int, clients: int, requests: int, figures: Figures, pid: int) -> None:
    push = hiredis.pack_command(("LPUSH", "plain", BODY))
    pop = hiredis.pack_command(("BRPOP", "plain", 2))
    for what, one, good in (("LPUSH", push, b":"), ("BRPOP", pop, b"*2")):
        each = [[one] * (requests // clients)] * clients
        await figures.take(what, clients, requests, pid, exchanged(server_port, each, is_resp, good))


async def service(port: int, turn: str, clients: int, requests: int, figures: Figures, pid: int) -> None:
    ids = ids_of(turn, clients, requests)
    for what, each, good in (
        ("push", [[call("Push", job_argument(one)) for one in mine] for mine in ids], b'"success"'),
        ("pop", [[call("Pop", [TOPIC]) for _ in mine] for mine in ids], b'"error":null'),
        ("ack", [[call("Ack", one) for one in mine] for mine in ids], b'"result":true'),
    ):
        await figures.take(what, clients, requests, pid, exchanged(port, each, is_line, good))
    nothing = [[call("Nothing", [])] * len(mine) for mine in ids]
    await figures.take("no method", clients, requests, pid, exchanged(port, nothing, is_line, b"can't find"))


async def engine(jobs: ListedJobs, pool: Pool, turn: str, clients: int, requests: int, figures: Figures) -> None:
    """The same in this process, without a port."""
    ids = ids_of(f"engine-{turn}", clients, requests)

    async def push(mine: list[str]) -> None:
        for one in mine:
            await jobs.push(Job(id=one, topic="engine", delay_s=0, ttr_s=60, body=BODY))

    async def pop(mine: list[str]) -> None:
        for _ in mine:
            while await jobs.pop(["engine"], lambda: True) is None:  # noqa: ASYNC110 (nobody tells here)
                await asyncio.sleep(0)

    async def ack(mine: list[str]) -> None:
        for one in mine:
            await jobs.ack(one)

    async def ping(mine: list[str]) -> None:
        for _ in mine:
            await pool.execute(("PING",))

    async def timed(act: Callable[[list[str]], Awaitable[None]]) -> float:
        begin_s = perf_counter()
        await asyncio.gather(*map(act, ids))
        return perf_counter() - begin_s

    for what, act in (("engine push", push), ("engine pop", pop), ("engine ack", ack), ("engine exchange", ping)):
        await figures.take(what, clients, requests, os.getpid(), timed(act))


@asynccontextmanager
async def engine_on(server_port: int, prefix: str) -> AsyncIterator[tuple[ListedJobs, Pool]]:
    from zonelab.cluster.zone import Address

    runtime = RealRuntime(seed=0)
    clock = NodeClock(epoch_ns=runtime.epoch_ns, run_ns=runtime.now_ns)
    pool = Pool(Address("127.0.0.1", server_port), runtime=runtime, connections=3, active_max=3_000, command_ms=10_000)
    await pool.open(within_s=10)
    settings = GmqSettings(prefix=prefix)
    jobs = ListedJobs(runtime=runtime, clock=clock, connection=pool, settings=settings, on_ready=lambda topic: None)
    await jobs.start()
    try:
        yield jobs, pool
    finally:
        await jobs.stop()
        pool.close()
        await runtime.close()


@asynccontextmanager
async def service_on(server_port: int, mode: str) -> AsyncIterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "gmq.ini"
        config.write_text(
            f"[redis]\nport={server_port}\n[log]\ntarget_type=file\nfilename={folder}/gmq.log\n"
            f"[service]\nmode={mode}\nrpc=127.0.0.1:0\napi=off\nweb=off\npid_file={folder}/gmq.pid\n"
        )
        command = [sys.executable, "-P", "-m", "zonelab.app.gmq_service", "--config", str(config)]
        program = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        try:
            assert program.stdout is not None
            yield json.loads(await program.stdout.readline())
        finally:
            program.terminate()
            await program.wait()


async def measured(options: argparse.Namespace) -> Figures:
    figures, zone = Figures(), ProcessZone("bench")
    async with ZoneSet([zone]):
        port = zone.address.port
        async with service_on(port, options.mode) as facts, engine_on(port, "engine") as (jobs, pool):
            rpc, pid = int(facts["rpc"].rpartition(":")[2]), facts["pid"]
            for turn in range(options.repeat):
                for clients in options.clients:
                    requests = options.requests // clients * clients
                    await plain(port, clients, requests, figures, pid)
                    await service(rpc, f"{turn}-{clients}", clients, requests, figures, pid)
                    await engine(jobs, pool, f"{turn}-{clients}", clients, requests, figures)
    return figures


def report(figures: Figures) -> dict[str, Any]:
    rates = {key: statistics.median(values) for key, values in figures.rates.items()}
    told: dict[str, Any] = {}
    for (what, clients), rate in rates.items():
        row: dict[str, Any] = {
            "per_s": round(rate),
            "spread": [round(min(v := figures.rates[what, clients])), round(max(v))],
        }
        if what in ORIGINAL:
            plain_rate = rates["LPUSH" if what == "push" else "BRPOP", clients]
            aim = ORIGINAL[what][clients] * SHARE[clients] if clients in SHARE else None
            row |= {
                "of_plain": round(rate / plain_rate, 2),
                "of_engine": round(rate / rates[f"engine {what}", clients], 2),
                "processor_us": round(statistics.median(figures.processor_us[what, clients])),
                "aim_per_s": aim and round(aim),
                "reached": aim and rate >= aim,
            }
        told.setdefault(str(clients), {})[what] = row
    return told


def hops(figures: Figures) -> dict[str, float]:
    """Microseconds of one request, with one client: what each part of the way takes."""

    def us(what: str) -> float:
        return round(1e6 / statistics.median(figures.rates[what, 1]), 1)

    return {
        "client to service and back, no command": us("no method"),
        "engine to server and back, no work (PING)": us("engine exchange"),
        "client to server and back (LPUSH)": us("LPUSH"),
        **{f"engine alone: {what}": us(f"engine {what}") for what in ORIGINAL},
        **{f"whole way: {what}": us(what) for what in ORIGINAL},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=3_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--mode", choices=["default", "compat", "hardened"], default="default")
    options = parser.parse_args()
    load_before = os.getloadavg()
    figures = uvloop.run(measured(options))
    facts = {"benchmark": "gmq_service", **vars(options), **environment()}
    facts |= {"load_average": [load_before, os.getloadavg()]}
    one = {"hops_us": hops(figures)} if 1 in options.clients else {}
    print(json.dumps({**facts, "results": report(figures), **one}, indent=1))


if __name__ == "__main__":
    main()
