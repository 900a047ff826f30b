"""Cost of a zone's RESP port: redis-benchmark against it and against one plain server, in turns, in the same run.

Prints one JSON document: for every level, load and command the requests per second of both and their ratio, as median
and range over the repetitions, beside the ratio measured with Dynomite, the gateway's processor time per request, and
the machine's load when it was measured; then the memory of the gateway process per idle client.

    .venv/bin/python benchmarks/resp.py [--repeat 3] [--level DC_QUORUM] [--command SET] [--cores one] [--clients 5000]
    .venv/bin/python benchmarks/resp.py --v1 6000 --repeat 7 [--level DC_QUORUM]

The second form measures one row: so many messages of a queue of V1, from 60 clients, one command at a time. With
``--beside DIR`` the port of another checkout of this project gets the same in turns.

``--cores`` says where processes run, for plain server and port alike: ``free``, where the scheduler puts them;
``apart``, clients and coordinators on the first core and all servers on the second; ``one``, all on the first. With one
client the plain rate differs by more than two between the last two, and ``free`` is now this, now that.
"""

import argparse
import asyncio
import json
import os
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import redis
import uvloop
from environment import environment

from zonelab.cluster.real.zones import ZoneSet, zones
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US
from zonelab.cluster.resp.gateway.program import allow_files
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level

PLAIN = "plain"
ZONES = ("a", "b", "c")
COMMANDS = ("SET", "GET", "HSET", "ZADD")
LOADS = {"c1": (1, 1, 10_000), "c50": (50, 1, 50_000), "c50 P16": (50, 16, 400_000)}
"""Clients, pipelined commands, requests."""

KEYS, VALUE_BYTES = 100_000, 100

DYNOMITE = {
    (Level.DC_ONE, "c1"): (0.49, 0.66, 0.47, 0.46),
    (Level.DC_ONE, "c50"): (0.48, 0.73, 0.48, 0.39),
    (Level.DC_ONE, "c50 P16"): (0.09, 0.34, 0.08, 0.13),
    (Level.DC_QUORUM, "c1"): (0.33, 0.38, 0.35, 0.37),
    (Level.DC_QUORUM, "c50"): (0.49, 0.50, 0.53, 0.41),
    (Level.DC_QUORUM, "c50 P16"): (0.09, 0.07, 0.09, 0.13),
    (Level.DC_SAFE_QUORUM, "c1"): (0.35, 0.36, 0.34, 0.34),
    (Level.DC_SAFE_QUORUM, "c50"): (0.47, 0.52, 0.50, 0.41),
    (Level.DC_SAFE_QUORUM, "c50 P16"): (0.09, 0.07, 0.08, 0.13),
}
"""Dynomite 2046b05 with three racks: ratio to plain Redis 7.0 for SET, GET, HSET, ZADD, on two cores."""

CORES: dict[str, tuple[int, int] | None] = {"free": None, "apart": (0, 1), "one": (0, 0)}
"""The core of clients and coordinators, and that of servers."""

LEVELS = list(dict.fromkeys(level for level, _ in DYNOMITE))

TARGETS = {
    (Level.DC_QUORUM, "SET"): {"c1": 0.36, "c50": 0.5, "c50 P16": 0.2},
    (Level.DC_QUORUM, "GET"): {"c1": 0.4, "c50": 0.52, "c50 P16": 0.2},
    (Level.DC_ONE, "GET"): {"c1": 0.66, "c50": 0.73, "c50 P16": 0.4},
}


class Gateway:
    """A gateway process in front of zone a."""

    def __init__(
        self, zone_set: ZoneSet, level: Level, directory: str, *, busy_poll_us: int, checkout: Path | None = None
    ) -> None:
        configuration = Path(directory) / "gateway.json"
        settings = {
            "zone": "a",
            "zones": {name: str(zone_set[name].address) for name in ZONES},
            "sockets": {name: zone_set[name].socket for name in ZONES},
            "level": level.value,
            "busy_poll_us": busy_poll_us,
        }
        configuration.write_text(json.dumps(settings))
        command = [sys.executable, "-P", "-m", "zonelab.cluster.resp", "--config", str(configuration)]
        environment = os.environ if checkout is None else {**os.environ, "PYTHONPATH": str(checkout)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=checkout, env=environment)
        assert self.process.stdout is not None
        self.port = int(json.loads(self.process.stdout.readline())["port"].rpartition(":")[2])

    @property
    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def processor_s(self) -> float:
        """Processor time that it has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def started(zone_set: ZoneSet, level: Level, directory: str, options: argparse.Namespace) -> dict[str, Gateway]:
    """That of this checkout, and that of the one beside which it is measured, if there is one."""
    checkouts = {"this": None} | ({} if options.beside is None else {"beside": options.beside})
    return {
        name: Gateway(zone_set, level, directory, busy_poll_us=options.busy_poll_us, checkout=checkout)
        for name, checkout in checkouts.items()
    }


def rate(program: str, port: int, command: str, load: str, *, cores: tuple[int, int] | None) -> float:
    """Requests per second of one run of the benchmark program."""
    clients, pipelined, requests = LOADS[load]
    numbers = {
        "-p": port,
        "-t": command.lower(),
        "-n": requests,
        "-c": clients,
        "-P": pipelined,
        "-d": VALUE_BYTES,
        "-r": KEYS,
    }
    arguments = [str(word) for pair in numbers.items() for word in pair]
    done = subprocess.run(
        [program, *arguments, "--csv"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, {cores[0]}),
    )
    [row] = [line for line in done.stdout.splitlines() if line.startswith(f'"{command}"')]
    return float(row.split(",")[1].strip('"'))


V1_CLIENTS = 60
_SCRIPT = (Path(__file__).parents[1] / "engine/dyno/v1/lua/atomic_remove.lua").read_bytes()
_QUEUE, _UNACK, _PAYLOADS = b"bench.QUEUE.q.a", b"bench.UNACK.q.a", b"bench.MESSAGE.q"
_PAYLOAD = b'{"id":"%b","payload":"' + b"x" * 100 + b'","timeout":0,"priority":0,"shard":"a"}'


def v1_commands(message: bytes) -> Iterator[bytes]:
    """Yield the commands of one message, as ``zonelab.engine.dyno.v1`` sends them, and a script that removes it."""
    yield wire.command(b"HSET", _PAYLOADS, message, _PAYLOAD % message)
    yield wire.command(b"ZADD", _QUEUE, b"1700000000000", message)
    yield wire.command(b"ZADD", _UNACK, b"NX", b"1700000060000", message)
    yield wire.command(b"ZREM", _QUEUE, message)
    yield wire.command(b"HGET", _PAYLOADS, message)
    yield wire.command(b"ZREM", _UNACK, message)
    yield wire.command(b"HDEL", _PAYLOADS, message)
    yield wire.command(b"EVAL", _SCRIPT, b"3", _PAYLOADS, _QUEUE, _UNACK, message)


def v1_traffic(port: int, messages: int) -> float:
    """Return the seconds that ``messages`` take, each client its own. Raises ``ValueError`` for an error reply."""
    with select.epoll() as poll:
        sockets = {}
        for number in range(V1_CLIENTS):
            one = socket.create_connection(("127.0.0.1", port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            own = range(number, messages, V1_CLIENTS)
            left = (command for message in own for command in list(v1_commands(b"%032d" % message)))
            sockets[one.fileno()] = (one, left)
            poll.register(one, select.EPOLLIN)
        begin_s = time.monotonic()
        for one, left in sockets.values():
            one.send(next(left))
        under_way = len(sockets)
        while under_way:
            for number, _ in poll.poll():
                one, left = sockets[number]
                reply = one.recv(65536)  # each is so short that it comes in one piece
                if reply[:1] in (b"-", b""):
                    raise ValueError(f"the port answers {reply!r}")
                following = next(left, None)
                if following is None:
                    under_way -= 1
                else:
                    one.send(following)
        return time.monotonic() - begin_s


def v1_row(gateways: dict[str, Gateway], messages: int, repeat: int) -> dict[str, object]:
    """Messages per second, and processor time per message, of each of ``gateways`` in turns."""
    rates: dict[str, list[float]] = {name: [] for name in gateways}
    processor_us: dict[str, list[float]] = {name: [] for name in gateways}
    for turn in range(repeat):
        for name in list(gateways)[:: 1 if turn % 2 else -1]:
            gateway = gateways[name]
            used_s = gateway.processor_s
            command = [sys.executable, __file__, "--as-v1", str(gateway.port), "--v1", str(messages)]
            said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
            rates[name].append(messages / float(said.stdout))
            processor_us[name].append((gateway.processor_s - used_s) * 1e6 / messages)
    return {
        name: {"messages_per_s": spread(rates[name], 0), "gateway_processor_us": spread(processor_us[name], 1)}
        for name in gateways
    }


async def measure_v1(options: argparse.Namespace) -> dict[str, object]:
    rows: dict[str, object] = {}
    async with zones("process", ZONES) as zone_set:
        for level in options.level:
            with tempfile.TemporaryDirectory() as directory:
                gateways = started(zone_set, level, directory, options)
                try:
                    rows[level.value] = v1_row(gateways, options.v1, options.repeat)
                finally:
                    for gateway in gateways.values():
                        gateway.stop()
    commands = {"clients": V1_CLIENTS, "commands_per_message": len(list(v1_commands(b""))), "messages": options.v1}
    return {"benchmark": "resp --v1", **commands, **environment(), "load_average": os.getloadavg()[0], "results": rows}


def fill(port: int) -> None:
    """Give every key that GET may ask for its value: a plain server gains more than the port by replies without one."""
    with redis.Redis(port=port) as client, client.pipeline(transaction=False) as steps:
        for number in range(KEYS):
            steps.set(f"key:{number:012}", b"x" * VALUE_BYTES)
        steps.execute()


def spread(values: list[float], digits: int) -> dict[str, float]:
    middle = statistics.median(values)
    return {
        name: round(value, digits)
        for name, value in zip(("median", "min", "max"), (middle, min(values), max(values)), strict=True)
    }


def compared(
    program: str,
    plain_port: int,
    gateways: dict[str, Gateway],
    level: Level,
    command: str,
    load: str,
    *,
    repeat: int,
    cores: tuple[int, int] | None,
) -> dict[str, object]:
    begin = os.getloadavg()[0]
    plain: list[float] = []
    rates: dict[str, list[float]] = {name: [] for name in gateways}
    processor_us: dict[str, list[float]] = {name: [] for name in gateways}
    for turn in range(repeat):
        plain.append(rate(program, plain_port, command, load, cores=cores))
        for name in list(gateways)[:: 1 if turn % 2 else -1]:
            gateway = gateways[name]
            used_s = gateway.processor_s
            rates[name].append(rate(program, gateway.port, command, load, cores=cores))
            processor_us[name].append((gateway.processor_s - used_s) * 1e6 / LOADS[load][2])
    ratio = spread([ours / its for its, ours in zip(plain, rates["this"], strict=True)], 3)
    row: dict[str, object] = {
        "level": level.value,
        "load": load,
        "command": command,
        "plain_per_s": spread(plain, 0),
        "port_per_s": spread(rates["this"], 0),
        "ratio": ratio,
        "dynomite_ratio": DYNOMITE[level, load][COMMANDS.index(command)],
        "gateway_processor_us": spread(processor_us["this"], 2),
        "load_average_before": round(begin, 2),
    }
    if "beside" in gateways:
        row["beside_per_s"] = spread(rates["beside"], 0)
        row["beside_processor_us"] = spread(processor_us["beside"], 2)
    target = TARGETS.get((level, command), {}).get(load)
    if target is not None:
        row["target"] = target
        row["met"] = ratio["median"] >= target
    return row


async def idle_clients(gateway: Gateway, count: int) -> dict[str, object]:
    """Measure the growth of the gateway's resident memory by ``count`` clients that have sent one command each."""
    allow_files(count + 256)
    before = gateway.resident_bytes
    writers = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n")
        await reader.readexactly(8)
        writers.append(writer)
    grown = gateway.resident_bytes - before
    for writer in writers:
        writer.transport.abort()
    return {
        "clients": count,
        "bytes_per_client": round(grown / count),
        "target": 20_000,
        "met": grown / count <= 20_000,
    }


def pin(zone_set: ZoneSet, gateways: Iterable[Gateway], cores: tuple[int, int]) -> None:
    for zone in zone_set:
        _pin(zone.pid, cores[1])  # type: ignore[attr-defined]
    for gateway in gateways:
        _pin(gateway.process.pid, cores[0])


def _pin(pid: int, core: int) -> None:
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {core})


async def measure(program: str, options: argparse.Namespace) -> dict[str, object]:
    results: list[dict[str, object]] = []
    memory: dict[str, object] | None = None
    cores = CORES[options.cores]
    async with zones("process", [*ZONES, PLAIN]) as zone_set:
        for zone in zone_set:
            fill(zone.address.port)
        for level in options.level:
            with tempfile.TemporaryDirectory() as directory:
                gateways = started(zone_set, level, directory, options)
                try:
                    if memory is None and options.clients:
                        memory = await idle_clients(gateways["this"], options.clients)
                    if cores is not None:
                        pin(zone_set, gateways.values(), cores)
                    plain_port = zone_set[PLAIN].address.port
                    for load in options.load:
                        for command in options.command:
                            row = compared(
                                program,
                                plain_port,
                                gateways,
                                level,
                                command,
                                load,
                                repeat=options.repeat,
                                cores=cores,
                            )
                            results.append(row)
                            print(json.dumps(row), file=sys.stderr, flush=True)
                finally:
                    for gateway in gateways.values():
                        gateway.stop()
    return {
        "benchmark": "resp",
        "program": program,
        "cores": options.cores,
        "busy_poll_us": options.busy_poll_us,
        **environment(),
        "memory": memory,
        "results": results,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--level", type=Level, nargs="+", default=LEVELS, choices=LEVELS)
    parser.add_argument("--command", nargs="+", default=list(COMMANDS), choices=COMMANDS)
    parser.add_argument("--load", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--clients", type=int, default=5000, help="idle clients whose memory is measured; 0: none")
    parser.add_argument("--cores", default="free", choices=list(CORES), help="where processes run")
    parser.add_argument(
        "--busy-poll-us", type=int, default=BUSY_POLL_US, help="how long coordinators stay awake after a request"
    )
    parser.add_argument("--v1", type=int, help="measure so many messages of a queue of V1 instead")
    parser.add_argument("--as-v1", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--beside", type=Path, help="a checkout whose port gets the same in turns")
    options = parser.parse_args()
    if options.as_v1 is not None:
        print(v1_traffic(options.as_v1, options.v1))
        return
    if options.v1 is not None:
        print(json.dumps(uvloop.run(measure_v1(options)), indent=1))
        return
    program = shutil.which("redis-benchmark") or shutil.which("valkey-benchmark")
    if program is None:
        print("skipped: neither redis-benchmark nor valkey-benchmark is on the PATH (Debian: redis-tools)")
        return
    print(json.dumps(uvloop.run(measure(program, options)), indent=1))


if __name__ == "__main__":
    main()
