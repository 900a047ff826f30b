"""Measures the cost of the live page: p99 of pushes at ``zonelab up``, and throughput at saturation.

In turns, so that a busy moment of the machine falls on all: nobody looks (``closed``), a process asks for the page's
events and shows nothing (``events``), Chromium shows the page (``open``). What ``events`` costs is the cost of serving
the page, the rest of ``open`` is that of a browser on the same machine. Ratios of pairs are those of one round.

* ``push``: 200 messages a second through the ports of a cluster of ``zonelab up``, latency of each push;
* ``saturation``: dyno-queues on three process zones in one process with its load, as in ``queue_throughput``; the page
  is that of ``zonelab run … --live``.

On a machine that is busy otherwise, look at the ratios of processor time: they do not depend on who else computes. The
aim is a lower end of the interval of ``open / closed`` of p99 at 1.1 at most, by 20 rounds and more, some 17 minutes:

    .venv/bin/python benchmarks/monitor_cost.py --rounds 20 --parts push
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import chain
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from urllib.parse import quote

import httpx
import uvloop
from environment import environment
from queue_throughput import CATALOGUE, ZONES, Load, Sent, instances, throughput

from zonelab.analysis.statistics import quantile_interval
from zonelab.app.monitor.after_run import NOT_JUDGED
from zonelab.app.monitor.run_page import RunPage
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.connection import RedisUpstream
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.real.zones import zones
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.zone import Address
from zonelab.engine.dyno import DynoQueue, DynoSettings
from zonelab.engine.message import Message
from zonelab.scenarios.spec.reading import scenario_of

RATE_PER_S = 200
SETTLE_S = 2.0
"""A turn begins so long after the page is shown."""

PATIENCE_S = 120.0

LOOKS = ("closed", "events", "open")
"""Readers of the page, a turn each; the next round has them in reverse, so that what grows with time falls on all."""

_READER = """
import sys, httpx
headers = {"Authorization": f"Bearer {sys.argv[2]}"}
with httpx.stream("GET", sys.argv[1], headers=headers, timeout=60, trust_env=False) as answer:
    for line in answer.iter_lines():
        if line == "event: reading":
            print(line, flush=True)
"""


def turns_of(rounds: int) -> list[str]:
    return [look for number in range(rounds) for look in LOOKS[:: -1 if number % 2 else 1]]


class Browser:
    """Chromium without a window; its tabs are opened and closed through its debugging port."""

    def __init__(self, folder: str) -> None:
        plain = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
        )
        chromium = str(shutil.which("chromium"))
        self.process = subprocess.Popen(
            [chromium, *plain], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        told = Path(folder) / "DevToolsActivePort"
        while not told.exists():
            time.sleep(0.1)
        self._at = f"http://127.0.0.1:{told.read_text().split()[0]}/json"

    def processor_s(self) -> float:
        """Return the processor time of all its processes."""
        shown = subprocess.run(["pgrep", "-s", str(self.process.pid)], capture_output=True, text=True, check=False)
        return processor_s([int(pid) for pid in shown.stdout.split()])

    @contextlib.asynccontextmanager
    async def tab(self, address: str) -> AsyncIterator[None]:
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            made = (await client.put(f"{self._at}/new?{quote(address)}")).json()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while not await self._has_heard(client, made["id"]):  # noqa: ASYNC110 (another process)
                        await asyncio.sleep(0.2)
                await asyncio.sleep(SETTLE_S)
                yield
            finally:
                await client.get(f"{self._at}/close/{made['id']}")

    async def _has_heard(self, client: httpx.AsyncClient, tab_id: str) -> bool:
        """Return whether the page in a tab has its title, which it gets with the first event."""
        tabs = (await client.get(f"{self._at}/list")).json()
        return any(tab["id"] == tab_id and tab["title"].startswith("zonelab: ") for tab in tabs)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = Browser(folder)
        try:
            yield started
        finally:
            started.process.terminate()
            started.process.wait()


@contextlib.asynccontextmanager
async def reader(address: str) -> AsyncIterator[None]:
    """A process that asks for the events of the page at ``address``."""
    served_at, _, token = address.partition("#token=")
    command = (sys.executable, "-c", _READER, f"{served_at}events", token)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        await asyncio.wait_for(process.stdout.readline(), timeout=60)
        await asyncio.sleep(SETTLE_S)
        yield
        assert process.returncode is None, "the events ended"
    finally:
        process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def looked_at(look: str, chromium: Browser, address: str) -> AsyncIterator[None]:
    match look:
        case "open":
            looking: Any = chromium.tab(address)
        case "events":
            looking = reader(address)
        case _:
            looking = contextlib.nullcontext()
    async with looking:
        await asyncio.sleep(SETTLE_S if look == "closed" else 0)
        yield


def processor_s(pids: Sequence[int]) -> float:
    """Return the processor time of these processes so far."""
    used = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13] for pid in pids)
    return sum(int(user) + int(system) for user, system in used) / os.sysconf("SC_CLK_TCK")


def zonelab(folder: Path, *words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from zonelab.app.cli.main import main; sys.exit(main())", *words],
        cwd=folder,
        env={**os.environ, "ZONELAB_STATE": str(folder / "state")},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def connection_to(address: str, runtime: RealRuntime) -> ServerConnection:
    host, _, port = address.rpartition(":")
    upstream = RedisUpstream(Address(host, int(port)), loop=asyncio.get_running_loop())
    made = ServerConnection(upstream=upstream, runtime=runtime, timeouts=Timeouts())
    made.open()
    return made


async def pushed(queues: Sequence[DynoQueue], *, seconds: float, turn: str) -> list[float]:
    """Seconds that each push took; open loop, so that one that waits delays no other."""
    loop, took, tasks = asyncio.get_running_loop(), [], []
    next_s = loop.time()

    async def push(number: int) -> None:
        begin_s = perf_counter()
        await queues[number % len(queues)].push([Message(id=f"{turn}.{number}", timeout_ms=600_000)])
        took.append(perf_counter() - begin_s)

    for number in range(round(seconds * RATE_PER_S)):
        tasks.append(asyncio.create_task(push(number)))
        next_s += 1 / RATE_PER_S
        await asyncio.sleep(next_s - loop.time())
    await asyncio.gather(*tasks)
    return took


def tell(look: str, figure: float, busy: float) -> None:
    """Print the figure of a turn once it has ended, so that an interrupted run has shown what it measured."""
    print(f"{look} {figure:.2f}; {busy:.0f}", file=sys.stderr, flush=True)


def p99_ms(took: Sequence[float]) -> float:
    return 1e3 * statistics.quantiles(took, n=100)[98]


async def of_pushes(chromium: Browser, rounds: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        status = zonelab(folder, "up", "--port", "0", "--lag", "lognormal:2ms:15ms", "--json")
        try:
            address = zonelab(folder, "monitor", "--queue", "jobs", "--prefix", "app", "--json")["page"]
            runtime = RealRuntime(seed=1)
            clock = NodeClock(epoch_ns=runtime.epoch_ns, run_ns=runtime.now_ns)
            connections = [connection_to(zone["coordinator"]["address"], runtime) for zone in status["zones"]]
            await asyncio.sleep(1)
            queues = [
                DynoQueue("jobs", runtime=runtime, clock=clock, quorum=each, local=each, settings=settings)
                for zone, connection in zip(ZONES, connections, strict=True)
                for each in [DirectConnection(connection, runtime=runtime)]
                for settings in [DynoSettings(prefix="app", shards=ZONES, shard=zone)]
            ]
            await pushed(queues, seconds=2, turn="warm")
            latencies: dict[str, list[list[float]]] = {look: [] for look in LOOKS}
            busy: dict[str, list[float]] = {look: [] for look in LOOKS}
            pids = [zone["coordinator"]["pid"] for zone in status["zones"]]
            browser_s = 0.0
            for turn, look in enumerate(turns_of(rounds)):
                async with looked_at(look, chromium, address):
                    before_s, browser_before_s = processor_s(pids), chromium.processor_s()
                    took = await pushed(queues, seconds=seconds, turn=f"t{turn}")
                    busy[look].append(1e6 * (processor_s(pids) - before_s) / len(took))
                    browser_s += chromium.processor_s() - browser_before_s if look == "open" else 0
                latencies[look].append(took)
                tell(look, p99_ms(took), busy[look][-1])
            for connection in connections:
                connection.close()
            await runtime.close()
        finally:
            zonelab(folder, "down", "--json")
    return {
        "p99 of push, ms": compared({look: [p99_ms(took) for took in turns] for look, turns in latencies.items()}),
        "p99 of all pushes, ms": {look: round(p99_ms([*chain(*turns)]), 2) for look, turns in latencies.items()},
        "part of a processor that Chromium takes": round(browser_s / (rounds * seconds), 3),
        "processor time of the coordinators, us a message": compared(busy),
    }


class Saturated:
    """Cluster without faults, as the page of a run sees it."""

    def __init__(self, cluster: Testbed) -> None:
        self.testbed = cluster
        self.faults_in_force: list[Any] = []

    queue = None

    def tell_messages(self, so_far: Any) -> None:
        """The load here is not that of a run."""

    def tell_order(self, so_far: Any) -> None:
        """No message here is ordered."""


async def of_saturation(chromium: Browser, rounds: int, messages: int) -> dict[str, Any]:
    engine, load = CATALOGUE["dyno"], Load(messages, 10, 10, 20, 20)
    told = {"name": "bench", "topology": {"zones": list(ZONES)}, "load": {"duration_s": 1, "rate_per_s": 1}}
    rates: dict[str, list[float]] = {look: [] for look in LOOKS}
    busy: dict[str, list[float]] = {look: [] for look in LOOKS}
    async with RealCluster(zones("process", ZONES), RealSettings(seed=1)) as cluster:
        page = RunPage(scenario_of(told, source="bench"))
        page.sees(Saturated(cluster))
        async with page.served():
            for turn, look in enumerate(["closed", *turns_of(rounds)]):
                async with (
                    looked_at(look, chromium, page.address),
                    instances(cluster, engine, "DC_QUORUM", Sent()) as queues,
                ):
                    before_s = process_time()
                    total, seconds = await throughput(queues, engine, load, f"turn{turn}")
                    used_s = process_time() - before_s
                if turn:  # the first one warms up
                    rates[look].append(total / seconds)
                    busy[look].append(total / used_s)
                    tell(look, total / seconds, total / used_s)
        page.end(NOT_JUDGED)
    return {
        "messages a second through push, pop and ack": compared(rates),
        "messages a second of the process's own processor time": compared(busy),
    }


def compared(figures: dict[str, list[float]]) -> dict[str, Any]:
    """Each turn, and what ``closed`` is multiplied by for each other look.

    The interval of the median of rounds takes six of them.
    """
    told: dict[str, Any] = {look: [round(each, 2) for each in turns] for look, turns in figures.items()}
    for look in LOOKS[1:]:
        ratios = [one / closed for closed, one in zip(figures["closed"], figures[look], strict=True)]
        interval = quantile_interval(ratios, 0.5)
        told[f"{look} / closed"] = {
            "of_medians": round(statistics.median(figures[look]) / statistics.median(figures["closed"]), 3),
            "of_rounds": [round(pick(ratios), 3) for pick in (statistics.median, min, max)],
            "median_of_rounds_95": interval and [round(interval.low, 3), round(interval.high, 3)],
        }
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6, help="of three turns each")
    parser.add_argument("--seconds", type=float, default=12, help="of pushes, each turn")
    parser.add_argument("--messages", type=int, default=6_000, help="of a turn at saturation")
    parser.add_argument("--parts", nargs="+", choices=["push", "saturation"], default=["push", "saturation"])
    options = parser.parse_args()
    before, results = os.getloadavg(), {}
    with browser() as chromium:
        if "push" in options.parts:
            results["push"] = uvloop.run(of_pushes(chromium, options.rounds, options.seconds))
        if "saturation" in options.parts:
            results["saturation"] = uvloop.run(of_saturation(chromium, options.rounds, options.messages))
    load = {"before": before, "after": os.getloadavg()}
    print(
        json.dumps(
            {"benchmark": "monitor_cost", **vars(options), **environment(), "load": load, "results": results}, indent=1
        )
    )


if __name__ == "__main__":
    main()
