"""The model of the server and a real server side by side: every command goes to both, and the replies must be equal."""

import asyncio
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import hiredis

from zonelab.cluster.real.zones import ProcessZone
from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Command, Reply, ServerError

UNORDERED = frozenset(["SMEMBERS", "KEYS", "HKEYS", "HVALS", "SUNION", "SINTER", "SDIFF"])
"""Commands whose reply has no order that the server promises."""

SCANS = frozenset(["SCAN", "HSCAN", "SSCAN", "ZSCAN"])
"""A page of a scan is whatever the server likes; only an error is compared."""

CLOCKED = frozenset([b"idle", b"inactive", b"seen-time", b"active-time", b"radix-tree-nodes"])
"""Fields of XINFO that depend on the clock, or on the shape of the server's tree, which the model only guesses."""

LONG_MS = 500_000
"""Idle times on this side of it are short for every test."""

TIMES_S = frozenset(["TTL", "EXPIRETIME"])
TIMES_MS = frozenset(["PTTL", "PEXPIRETIME"])
CLOCK_TOLERANCE_MS = 5_000
"""The two read the clock one after the other, on a machine that may be busy."""


class Client:
    """A blocking client of one server."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._socket = socket.create_connection((address.host, address.port), timeout=60)
        self._reader = hiredis.Reader(replyError=ServerError)

    def execute(self, command: Command) -> Reply:
        self._socket.sendall(hiredis.pack_command(command))
        while (reply := self._reader.gets()) is False:
            data = self._socket.recv(1 << 16)
            assert data, "the server closed the connection"
            self._reader.feed(data)
        return reply

    def close(self) -> None:
        self._socket.close()


class Pair:
    def __init__(self, client: Client) -> None:
        self._client = client
        self.model = RedisModel(clock_us=lambda: time.time_ns() // 1000, random=random.Random(1))
        self.real("FLUSHALL")
        self.real("SCRIPT", "FLUSH")
        self.real("FUNCTION", "FLUSH")

    def real(self, *command) -> Reply:
        return self._client.execute(command)

    def simulated(self, *command) -> Reply:
        return self.model.execute(command)

    def run(self, *command) -> Reply:
        """Run on both and compare; the real reply."""
        real, simulated = self.real(*command), self.simulated(*command)
        name = (command[0].decode() if isinstance(command[0], bytes) else str(command[0])).upper()
        assert comparable(name, simulated) == comparable(name, real) or close(name, simulated, real), (
            f"{command}: the server answered {real!r}, the model {simulated!r}"
        )
        return real

    def compare_contents(self) -> None:
        """Every key, of every type, with its time to live."""
        for key in sorted(self.run("KEYS", "*")):
            kind = self.run("TYPE", key)
            self.run("PTTL", key)
            self.run(
                *{
                    b"string": ("GET", key),
                    b"hash": ("HGETALL", key),
                    b"list": ("LRANGE", key, 0, -1),
                    b"set": ("SMEMBERS", key),
                    b"zset": ("ZRANGE", key, 0, -1, "WITHSCORES"),
                    b"stream": ("XINFO", "STREAM", key, "FULL", "COUNT", 0),
                }[kind]
            )

    def pop_random(self, *command) -> None:
        """SPOP: the model may choose others than the server did, as long as they are members; then both are aligned."""
        before = self.simulated("SMEMBERS", command[1])
        real, simulated = self.real(*command), self.simulated(*command)
        if isinstance(real, ServerError) or real in (None, []):
            assert simulated == real
            return
        gone, chosen = as_list(real), as_list(simulated)
        assert len(set(chosen)) == len(chosen) == len(gone)
        assert set(chosen) <= set(before)
        self.simulated("SADD", command[1], *before)
        self.simulated("SREM", command[1], *gone)

    def choose_random(self, *command) -> None:
        """SRANDMEMBER: as many as the server chose, and all of them members."""
        members = self.simulated("SMEMBERS", command[1])
        real, simulated = self.real(*command), self.simulated(*command)
        if isinstance(real, ServerError) or real in (None, []):
            assert simulated == real
            return
        assert len(as_list(simulated)) == len(as_list(real))
        assert set(as_list(simulated)) <= set(members)


def as_list(reply: Reply) -> list:
    return reply if isinstance(reply, list) else [reply]


def comparable(name: str, reply: Reply) -> object:
    if isinstance(reply, list) and name in UNORDERED:
        return sorted(reply)
    if isinstance(reply, list) and name in SCANS:
        return "a page"
    if isinstance(reply, list) and name == "HGETALL":
        return sorted(zip(reply[::2], reply[1::2], strict=True))
    if isinstance(reply, list) and name == "XPENDING" and reply and isinstance(reply[0], list):
        return [[entry, consumer, idle_ms > LONG_MS, times] for entry, consumer, idle_ms, times in reply]
    if isinstance(reply, list) and name == "XINFO":
        return _without_clock(reply)
    if isinstance(reply, bytes):
        return bytes(reply)
    return reply


def _without_clock(reply: list) -> list:
    """Return XINFO of a stream without the fields of ``CLOCKED`` and without the times of deliveries."""
    shown: list = []
    for title, item in zip([None, *reply], reply, strict=False):
        if isinstance(item, int) and title in CLOCKED:
            shown.append(min(item, 0))
        elif title == b"pending" and isinstance(item, list):
            shown.append([[*entry[:-2], entry[-1]] for entry in item])
        else:
            shown.append(_without_clock(item) if isinstance(item, list) else item)
    return shown


def close(name: str, simulated: Reply, real: Reply) -> bool:
    if name not in TIMES_S | TIMES_MS or not isinstance(simulated, int) or not isinstance(real, int):
        return False
    tolerance = CLOCK_TOLERANCE_MS if name in TIMES_MS else CLOCK_TOLERANCE_MS // 1000
    return simulated >= 0 and real >= 0 and abs(simulated - real) <= tolerance


@contextmanager
def real_server() -> Iterator[Client]:
    """A client of a server process that lives as long as the block."""
    with asyncio.Runner() as runner:
        zone = ProcessZone("conformance")
        runner.run(zone.start())
        try:
            client = Client(zone.address)
            try:
                yield client
            finally:
                client.close()
        finally:
            runner.run(zone.stop())
