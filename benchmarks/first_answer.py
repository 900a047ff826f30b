"""First zone to answer where links have no lag, and where they have that of the loopback; and what that lag is.

    python benchmarks/first_answer.py [--lags 0 loopback] [--commands 2000]

First the way of 120 bytes from one process to another over TCP on 127.0.0.1, sent at random distances to a process
that waits for them, in turns: microseconds, of which 15 to 20 are this program's own. Then, for each lag, a cluster of
three zones at DC_QUORUM whose servers hold three different values: how often a GET is answered with the value of the
client's own zone. Then the server of zone b is killed: how often EVALSHA of an unknown script is answered with NOSCRIPT
and not with b's refusal.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import redis
from environment import environment

MESSAGE_BYTES = 120
TURNS = 3
SENT = 3_000
GAPS_US = (100, 300, 1_000, 3_000)
QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
CONNECTIONS = (1, 10, 50)

GET = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
EVALSHA = b"*4\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$1\r\nk\r\n" % (b"0" * 40)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lags", nargs="+", default=["0", "loopback"])
    parser.add_argument("--commands", type=int, default=2_000, help="for each zone and number of connections")
    options = parser.parse_args()
    print(json.dumps(environment()))
    for _ in range(TURNS):
        for gap_us in GAPS_US:
            ways_us = sorted(one_way_us(gap_us))
            told = ", ".join(f"{share:g}: {ways_us[int(share * len(ways_us))]:.0f}" for share in QUANTILES)
            print(f"loopback, {gap_us} us apart: {told}")
    for lag in options.lags:
        shares_of(lag, commands=options.commands)


def one_way_us(gap_us: int) -> list[float]:
    """Return for each message the time from before it is written until it has been read, by the machine's clock."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sender = os.fork()
        if sender == 0:
            _send(listening.getsockname(), gap_us)
        reader, _ = listening.accept()
    ways = []
    with reader:
        while message := reader.recv(MESSAGE_BYTES, socket.MSG_WAITALL):
            ways.append((time.monotonic_ns() - int(message)) / 1e3)
    os.waitpid(sender, 0)
    return ways


def _send(address: Any, gap_us: int) -> None:
    random = Random(gap_us)
    with socket.create_connection(address) as writer:
        writer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(SENT):
            time.sleep(random.uniform(0.5, 1.5) * gap_us / 1e6)
            writer.sendall(b"%*d" % (MESSAGE_BYTES, time.monotonic_ns()))
    os._exit(0)


def shares_of(lag: str, *, commands: int) -> None:
    with tempfile.TemporaryDirectory(prefix="zonelab-benchmark-") as folder:

        def zonelab(*words: str) -> str:
            program = str(Path(sys.executable).with_name("zonelab"))
            state = {**os.environ, "ZONELAB_STATE": f"{folder}/state"}
            return subprocess.run([program, *words], cwd=folder, env=state, capture_output=True, check=True).stdout

        up = json.loads(zonelab("up", "--port", "0", "--level", "DC_QUORUM", "--lag", lag, "--json"))
        try:
            zones = {zone["zone"]: zone for zone in up["zones"]}
            for name in zones:
                redis.Redis(port=_port(zones, name, "server")).set("k", name)
            for connections in CONNECTIONS:
                for name in zones:
                    said = asyncio.run(_answers(_port(zones, name, "coordinator"), GET, connections, commands))
                    print(f"lag {lag}, {connections} clients of {name}: own value {said[name]:.0%}", flush=True)
            zonelab("fault", "kill", "b")
            for connections in CONNECTIONS:
                for name in "ac":
                    said = asyncio.run(_answers(_port(zones, name, "coordinator"), EVALSHA, connections, commands))
                    print(f"lag {lag}, {connections} clients of {name}, b killed: NOSCRIPT {said['-NOSCRIPT']:.0%}")
        finally:
            zonelab("down")


def _port(zones: Mapping[str, Any], name: str, of: str) -> int:
    return int(zones[name][of]["address"].rpartition(":")[2])


async def _answers(port: int, command: bytes, connections: int, commands: int) -> dict[str, float]:
    """The share of each answer, of errors their first word."""
    counted: Counter[str] = Counter()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(commands // connections):
            writer.write(command)
            answer = await reader.readline()
            if answer.startswith(b"$"):
                answer = await reader.readline()
            counted[answer.decode().split()[0]] += 1
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return Counter({answer: count / counted.total() for answer, count in counted.items()})


if __name__ == "__main__":
    main()
