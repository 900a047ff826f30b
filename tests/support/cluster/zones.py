"""What the tests of real zones share: making zones, looking at servers from outside, and running a lab as a program."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from docker.client import DockerClient
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from support.programs import Program

from zonelab.cluster.real.zones import DockerZoneSettings, ProcessZone, ProcessZoneSettings, RealZone
from zonelab.cluster.real.zones.docker.container import DockerZone
from zonelab.cluster.real.zones.port import PortReservation
from zonelab.cluster.zone import Address, Persistence

DEADLINE_S = 30.0


def make_zone(kind: str, name: str, *, persistence: Persistence = Persistence.NONE, **settings: object) -> RealZone:
    if kind == "process":
        return ProcessZone(name, ProcessZoneSettings(persistence=persistence, **settings))
    return DockerZone(name, DockerZoneSettings(persistence=persistence, **settings))


@contextlib.asynccontextmanager
async def running(*zones: RealZone) -> AsyncIterator[None]:
    """Start zones one by one without the help of a ZoneSet, and stop them all."""
    try:
        for zone in zones:
            await zone.start()
        yield
    finally:
        for zone in zones:
            await zone.stop()


@contextlib.asynccontextmanager
async def client(zone: RealZone, *, decode_responses: bool = False) -> AsyncIterator[Redis]:
    connection = Redis(
        host=zone.address.host,
        port=zone.address.port,
        protocol=2,
        decode_responses=decode_responses,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        yield connection
    finally:
        await connection.aclose()


async def eventually(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Return once ``condition`` holds; fail if it does not by the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        holds = condition()
        if holds if isinstance(holds, bool) else await holds:
            return
        assert time.monotonic() < deadline, "the condition did not come to hold"
        await asyncio.sleep(0.005)


async def is_refused(address: Address) -> bool:
    try:
        _, writer = await asyncio.open_connection(address.host, address.port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


@contextlib.contextmanager
def peers(*names: str) -> Iterator[dict[str, str]]:
    """Free ports for coordinators of other data centres."""
    with contextlib.ExitStack() as stack:
        reserved = {name: PortReservation(None) for name in names}
        for one in reserved.values():
            stack.callback(one.release)
        yield {name: f"127.0.0.1:{one.port}" for name, one in reserved.items()}


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def living_children() -> list[int]:
    """Looks again if a thread ends meanwhile, as its children are another thread's then."""
    while True:
        try:
            told = [(task / "children").read_text() for task in Path("/proc/self/task").iterdir()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        return sorted(pid for pid in map(int, " ".join(told).split()) if is_alive(pid))


def listening_addresses(port: int) -> list[str]:
    """Local addresses, as the kernel writes them, of the sockets that listen on ``port``."""
    suffix = f":{port:04X}"
    lines = [line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()]
    return [line[1].removesuffix(suffix) for line in lines if line[1].endswith(suffix) and line[3] == "0A"]


def containers(run_id: str) -> list[str]:
    with contextlib.closing(DockerClient.from_env()) as docker:
        return [
            container.name
            for container in docker.containers.list(
                all=True, ignore_removed=True, filters={"label": f"zonelab={run_id}"}
            )
        ]


LAB = """
import asyncio, json, os, sys
from zonelab.cluster.real.zones import zones
from zonelab.cluster.real.zones.process.process import ProcessZone

async def say(zone_set):
    pids = [zone.pid for zone in zone_set if isinstance(zone, ProcessZone)]
    print(json.dumps({"pids": pids, "ports": [zone.address.port for zone in zone_set]}), flush=True)

async def hold(kind, run_id):
    async with zones(kind, ["a", "b", "c"], run_id=run_id) as zone_set:
        await say(zone_set)
        while True:  # a signal that comes just before the loop waits is seen at its next turn only
            await asyncio.sleep(0.05)

async def fail(kind, run_id):
    async with zones(kind, ["a", "b", "c"], run_id=run_id) as zone_set:
        await say(zone_set)
        raise RuntimeError("in the middle")

async def forget(kind, run_id):
    zone_set = zones(kind, ["a", "b", "c"], run_id=run_id)
    for zone in zone_set:
        await zone.start()
    await say(zone_set)

async def hang(kind, binary):
    print(json.dumps({"pids": [], "ports": []}), flush=True)
    async with zones(kind, ["a", "b", "c"], binary=binary):
        pass

loop, what, kind, argument = sys.argv[1:]
if loop == "uvloop":
    import uvloop
    uvloop.run(globals()[what](kind, argument))
else:
    asyncio.run(globals()[what](kind, argument))
"""


class Lab(Program):
    """A lab in a program of its own, whose temporary directories are under ``temporary``."""

    def __init__(
        self, what: str, *, temporary: Path, kind: str = "process", argument: str = "test", loop: str = "asyncio"
    ) -> None:
        self.temporary = temporary
        super().__init__("-c", LAB, loop, what, kind, argument, environment={"TMPDIR": str(temporary)})

    @property
    def pids(self) -> list[int]:
        return self.said["pids"]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def servers_gone(self) -> bool:
        """Whether all server processes have ended by a deadline; the kernel needs a moment after the lab's end."""
        deadline = time.monotonic() + DEADLINE_S
        while any(is_alive(pid) for pid in self.pids):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def left_on_disk(self) -> list[Path]:
        return list(self.temporary.iterdir())


def stub_server(path: Path, *, then: str) -> Path:
    """A program that passes for a server when asked for its version, and does ``then`` when it should serve."""
    path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "Valkey server v=9.9.9"; exit 0; fi\n{then}\n')
    path.chmod(0o755)
    return path
