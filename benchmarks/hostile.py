"""Harm that one client of a zone's RESP port can do to another: attacks beside a good client, at two levels.

Prints a line of JSON an attack: the good client's worst answer and its errors, the longest turn of the port's loop, the
most processor time between two looks 5 ms apart (to which a busy machine does not add), and the port's memory at rest
and at its peak. The aims are 0.5 s, no error, 50 ms, and what was held at rest + ``held_bytes_max`` + 20 %.

    .venv/bin/python benchmarks/hostile.py [--attack NAME ...] [--level DC_ONE] [--held-mb 512] [--seconds 8]

Everything is on the loopback interface; an attack ends after ``--seconds``. It wants 3 GB of memory.
"""

import argparse
import asyncio
import contextlib
import json
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop
from environment import environment

from zonelab.cluster.real.zones import ZoneSet, zones
from zonelab.cluster.resp.gateway.configuration import read_configuration
from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.resp.gateway.program import run
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level

ZONES = ("a", "b", "c")
MB = 1_000_000
LOOK_S = 0.005
PAUSE_S = 0.002
"""Between two requests of the good client."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """``clients`` that send ``data``, and take their answers only if it ``reads``."""

    clients: int = 1
    data: bytes
    repeats: bool = False
    """Over and over, without waiting for answers."""

    lines: int = 0
    """Over and over, each time when there are answers of so many lines."""

    reads: bool = False
    stalls: bool = False
    """The server of zone c stands still meanwhile."""

    password: bool = False


_SET_50 = wire.command(b"SET", b"attack", b"v" * 20) * 50
_QUEUED = wire.command(b"MULTI") + wire.command(b"SET", b"attack", bytes(MB)) * 60
_UNFINISHED = b"*3\r\n$3\r\nSET\r\n$6\r\nattack\r\n$60000000\r\n" + bytes(40 * MB)
_LARGE = wire.command(b"SET", b"attack", bytes(10 * MB))

ATTACKS = {
    "none": Attack(data=b""),
    "a zone stalls, 50 clients with 50 SETs": Attack(clients=50, data=_SET_50, lines=50, reads=True, stalls=True),
    "a zone stalls, 50 clients with SETs without end": Attack(
        clients=50, data=_SET_50, repeats=True, reads=True, stalls=True
    ),
    "1 MB of unknown commands": Attack(data=b"x\n" * 500_000),
    "unknown commands, 20 clients": Attack(clients=20, data=b"x\n" * 500_000, repeats=True, reads=True),
    "4 MB of empty commands": Attack(data=b"*0\r\n" * MB),
    "blank lines, 20 clients": Attack(clients=20, data=b"\r\n" * MB, repeats=True),
    "before AUTH, 20 clients": Attack(clients=20, data=b"x\n" * 500_000, password=True),
    "64 GETs of 10 MB, unread": Attack(data=wire.command(b"GET", b"ten") * 64),
    "100 clients with 64 GETs of 1 MB, unread": Attack(clients=100, data=wire.command(b"GET", b"one") * 64),
    "20 clients with 60 MB in MULTI": Attack(clients=20, data=_QUEUED),
    "20 clients with 40 MB of a command": Attack(clients=20, data=_UNFINISHED),
    "20 clients with SETs of 10 MB": Attack(clients=20, data=_LARGE, repeats=True, reads=True),
    "a zone stalls, 20 clients with SETs of 10 MB": Attack(
        clients=20, data=_LARGE, repeats=True, reads=True, stalls=True
    ),
}


class Attacker:
    """One client of an attack."""

    def __init__(self, one: Attack, port: int, selector: selectors.BaseSelector) -> None:
        self._one = one
        self._selector = selector
        self._left = memoryview(one.data)
        self._lines = 0
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(0)
        self._reads = selectors.EVENT_READ if one.reads else 0
        selector.register(self._socket, self._reads | selectors.EVENT_WRITE, self)

    def go_on(self, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                self._take(self._socket.recv(1 << 20))
            if events & selectors.EVENT_WRITE:
                self._left = self._left[self._socket.send(self._left) :]
                if not self._left:
                    self._sent()
        except BlockingIOError:
            pass
        except OSError:
            self._selector.unregister(self._socket)
            self._socket.close()

    def _take(self, data: bytes) -> None:
        if not data:
            raise ConnectionResetError
        self._lines += data.count(b"\n")
        if self._one.lines and self._lines >= self._one.lines:
            self._lines = 0
            self._left = memoryview(self._one.data)
            self._selector.modify(self._socket, self._reads | selectors.EVENT_WRITE, self)

    def _sent(self) -> None:
        if self._one.repeats:
            self._left = memoryview(self._one.data)
        elif self._reads:
            self._selector.modify(self._socket, self._reads, self)
        else:
            self._selector.unregister(self._socket)  # and it stays open, unread


def attack(one: Attack, port: int, seconds: float) -> None:
    """In a process of its own."""
    deadline_s = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        clients = [Attacker(one, port, selector) for _ in range(one.clients)]
        while clients and time.monotonic() < deadline_s:
            for key, events in selector.select(0.1):
                key.data.go_on(events)


class Turns:
    """Return the length of the loop's longest turn since it was last asked, on the clock and in processor time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._forget()
        self._begin()

    def say(self) -> None:
        print(json.dumps({"ms": round(self._longest_s * 1e3, 1), "processor_ms": round(self._processor_s * 1e3, 1)}))
        sys.stdout.flush()
        self._forget()

    def _forget(self) -> None:
        self._longest_s = self._processor_s = 0.0

    def _begin(self) -> None:
        self._due_s, self._used_s = time.monotonic() + LOOK_S, time.process_time()
        self._loop.call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._longest_s = max(self._longest_s, time.monotonic() - self._due_s)
        self._processor_s = max(self._processor_s, time.process_time() - self._used_s)
        self._begin()


@contextlib.asynccontextmanager
async def watched(gateway: ZoneGateway) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, Turns(loop).say)
    yield


class Port:
    """A gateway process in front of zone a that tells its longest turn."""

    def __init__(self, zone_set: ZoneSet, level: Level, directory: str, *, password: bool, held_mb: int) -> None:
        configuration = Path(directory) / "gateway.json"
        settings: dict[str, Any] = {
            "zone": "a",
            "zones": {name: str(zone_set[name].address) for name in ZONES},
            "sockets": {name: zone_set[name].socket for name in ZONES},
            "level": level.value,
            "limits": {"held_bytes_max": held_mb * MB},
        }
        if password:
            settings["password"] = "sesame"
        configuration.write_text(json.dumps(settings))
        command = [sys.executable, __file__, "--gateway", str(configuration)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.number = int(self._said()["port"].rpartition(":")[2])

    def longest_turn(self) -> dict[str, float]:
        """Since this was last asked."""
        self._process.send_signal(signal.SIGUSR1)
        return self._said()

    def memory_mb(self, name: str) -> float:
        """``VmRSS``, what is resident, or ``VmHWM``, the most that was since ``forget_peak``."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return round(int(status.split(f"{name}:")[1].split()[0]) / 1e3, 1)

    def forget_peak(self) -> None:
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)

    def _said(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


class GoodClient:
    """Sets and gets one key, one command at a time. An answer that does not come within 30 s ends it."""

    def __init__(self, port: int, *, password: bool) -> None:
        self._port = port
        self._password = password
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        if self._password:
            self._ask(wire.command(b"AUTH", b"sesame"))

    def _ask(self, command: bytes) -> bytes:
        self._socket.sendall(command)
        return self._socket.recv(1000)

    def watch(self, attacker: "subprocess.Popen[bytes]") -> dict[str, Any]:
        """Ask on and on until ``attacker`` has ended, and for a second more."""
        taken_s: list[float] = []
        errors: dict[str, int] = {}
        end_s: float | None = None
        while end_s is None or time.monotonic() < end_s:
            if end_s is None and attacker.poll() is not None:
                end_s = time.monotonic() + 1
            for command, expected in ((b"SET", b"+OK\r\n"), (b"GET", b"$4\r\ngood\r\n")):
                begin_s = time.monotonic()
                answer = self._try(wire.command(command, b"good", *([b"good"] if command == b"SET" else [])))
                taken_s.append(time.monotonic() - begin_s)
                if answer != expected:
                    errors[answer.decode()] = errors.get(answer.decode(), 0) + 1
            time.sleep(PAUSE_S)
        taken_s.sort()
        return {
            "good_asked": len(taken_s),
            "good_median_ms": round(taken_s[len(taken_s) // 2] * 1e3, 1),
            "good_worst_ms": round(taken_s[-1] * 1e3, 1),
            "good_errors": errors,
        }

    def _try(self, command: bytes) -> bytes:
        try:
            return self._ask(command) or b"closed"
        except OSError as error:
            self._connect()
            return str(error).encode()


async def attacked(zone_set: ZoneSet, name: str, level: Level, options: argparse.Namespace) -> dict[str, Any]:
    one = ATTACKS[name]
    with tempfile.TemporaryDirectory() as directory:
        port = Port(zone_set, level, directory, password=one.password, held_mb=options.held_mb)
        try:
            good = GoodClient(port.number, password=one.password)
            rest_mb = port.memory_mb("VmRSS")
            port.forget_peak()
            port.longest_turn()
            if one.stalls:
                await zone_set["c"].pause()
            command = [sys.executable, __file__, "--as-attacker", name, str(port.number), str(options.seconds)]
            attacker = subprocess.Popen(command)  # noqa: ASYNC220 (nobody else uses this loop)
            try:
                seen = await asyncio.to_thread(good.watch, attacker)
            finally:
                attacker.wait(60)
                if one.stalls:
                    await zone_set["c"].resume()
            return judged(seen, port, rest_mb, options.held_mb)
        finally:
            port.stop()


def judged(seen: dict[str, Any], port: Port, rest_mb: float, held_mb: int) -> dict[str, Any]:
    turn, peak_mb = port.longest_turn(), port.memory_mb("VmHWM")
    met = {
        "worst": seen["good_worst_ms"] <= 500,
        "errors": not seen["good_errors"],
        "turn": turn["ms"] <= 50,
        "memory": peak_mb <= (rest_mb + held_mb) * 1.2,
    }
    return {
        **seen,
        "turn": turn,
        "rest_mb": rest_mb,
        "peak_mb": peak_mb,
        "not_met": [aim for aim in met if not met[aim]],
    }


async def measure(options: argparse.Namespace) -> None:
    print(json.dumps({"benchmark": "hostile", "held_mb": options.held_mb, **environment()}))
    async with zones("process", ZONES) as zone_set:
        for zone in zone_set:
            with socket.create_connection((zone.address.host, zone.address.port)) as direct:
                direct.sendall(wire.command(b"SET", b"ten", bytes(10 * MB)) + wire.command(b"SET", b"one", bytes(MB)))
                direct.recv(100)
        for level in options.level:
            for name in options.attack:
                row = await attacked(zone_set, name, level, options)
                print(json.dumps({"level": level.value, "attack": name, **row}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attack", nargs="+", default=list(ATTACKS), choices=list(ATTACKS))
    parser.add_argument("--level", type=Level, nargs="+", default=[Level.DC_ONE, Level.DC_QUORUM])
    parser.add_argument("--held-mb", type=int, default=512, help="the port's held_bytes_max, in millions of bytes")
    parser.add_argument("--seconds", type=float, default=8, help="an attack ends after this; time-outs are 5 s")
    parser.add_argument("--gateway", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--as-attacker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.gateway is not None:
        run(read_configuration(options.gateway), companions=[watched])
    elif options.as_attacker is not None:
        name, port, seconds = options.as_attacker
        attack(ATTACKS[name], int(port), float(seconds))
    else:
        uvloop.run(measure(options))


if __name__ == "__main__":
    main()
