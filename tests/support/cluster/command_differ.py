"""The model and a real server compared by programs of drawn commands: pipelined, on the wire, in RESP 2 and 3.

A program that differs is shrunk to a smallest one.
"""

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import hiredis
from support.cluster.command_families import Commands
from support.cluster.redis_pair import comparable

from zonelab.cluster.resp.protocol.replies import ReplyCutter
from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.redis.resp import encode, typed
from zonelab.cluster.zone import Address
from zonelab.engine.ports import Reply, ServerError

Command = tuple[bytes, ...]
Program = Sequence[Command]

UNORDERED = frozenset(b"SMEMBERS KEYS HKEYS HVALS HGETALL SUNION SINTER SDIFF SCAN HSCAN SSCAN ZSCAN".split())
"""Commands whose reply has no order that the server promises."""

NESTED = frozenset((b"FUNCTION",))
"""Commands of whose reply the lists inside have no order either."""

SCANS = frozenset(b"SCAN HSCAN SSCAN ZSCAN".split())

MOMENTS = frozenset(b"TTL PTTL EXPIRETIME PEXPIRETIME HTTL HPTTL HEXPIRETIME HPEXPIRETIME".split())
"""Commands whose reply is a time, which passes while a program runs."""

TOLERANCE_MS = 5_000

CLOCKED = re.compile(rb"(idle|inactive|radix-tree-nodes)\r\n:\d+\r\n|:\d{13}\r\n")
"""Fields of XINFO with times, or with the shape of the server's tree, which the model only guesses."""

DRAWN = frozenset(b"SRANDMEMBER HRANDFIELD ZRANDMEMBER RANDOMKEY".split())
"""Commands that choose at random."""

PER_PROGRAM = 200

NOT_IN_SCRIPTS = UNORDERED | MOMENTS | DRAWN | frozenset(b"SPOP OBJECT XINFO XPENDING XREAD XREADGROUP LCS".split())
"""Commands whose replies are not compared byte for byte, which a script would hide, or are maps, which it reorders."""

SCRIPTED = 0.04
"""Share of commands that a script calls."""

CALLS = [
    version + f"return redis.{call}(unpack(ARGV))".encode()
    for version in (b"", b"redis.setresp(3) ")
    for call in ("call", "pcall")
]


@dataclass(frozen=True)
class Difference:
    """The first command of ``program`` whose replies differ, and those: the server's and the model's."""

    program: Program
    place: int
    real: bytes
    simulated: bytes

    def __str__(self) -> str:
        shown = "\n".join(f"  {' '.join(map(_shown, command))}" for command in self.program[: self.place + 1])
        return f"after\n{shown}\nthe server answers {self.real!r},\nthe model          {self.simulated!r}"


def _shown(word: bytes) -> str:
    text = word.decode("latin-1")
    return text if text.isascii() and text.isprintable() and text and " " not in text else repr(word)[1:]


class WireClient:
    """A client that sends a pipeline and returns the bytes of each reply."""

    def __init__(self, address: Address, *, protocol: int) -> None:
        self._socket = socket.create_connection((address.host, address.port), timeout=60)
        self._cutter = ReplyCutter()
        if protocol == 3:
            self.execute([(b"HELLO", b"3")])

    def execute(self, commands: Program) -> list[bytes]:
        packed = b"".join(map(hiredis.pack_command, commands))
        replies: list[bytes] = []
        sent = 0
        while sent < len(packed):  # the server must not wait for its replies to be read
            self._socket.sendall(packed[sent : sent + (1 << 16)])
            sent += 1 << 16
        while not self._cutter.take(len(commands) - len(replies), replies):
            data = self._socket.recv(1 << 18)
            assert data, "the server closed the connection"
            self._cutter.feed(data)
        return replies

    def close(self) -> None:
        self._socket.close()


@dataclass
class Moment:
    """The time that a model shows."""

    now_us: int


class Differ:
    """Compares a model made by ``make`` with the server of ``client``."""

    def __init__(self, client: WireClient, *, protocol: int, make: Callable[..., RedisModel] = RedisModel) -> None:
        self._client, self._protocol, self._make = client, protocol, make
        self.executed = 0

    def difference(self, program: Program) -> Difference | None:
        """Return the first difference, in a reply or in what is left in the end; None if there is none."""
        model, _ = self.begin()
        program = [*program, (b"DBSIZE",)]
        found = self.compare(model, program, program)
        if found is not None:
            return found
        contents = [
            command for key in list(model.store.names()) for command in reads(key, model.execute((b"TYPE", key)))
        ]
        extended = [*program, *contents]
        return self.compare(model, extended, extended[len(program) :])

    def begin(self) -> tuple[RedisModel, "Moment"]:
        """Empty the server; returns an empty model, and the time that it shows until another is set."""
        self._client.execute([(b"FLUSHALL",), (b"SCRIPT", b"FLUSH"), (b"FUNCTION", b"FLUSH")])
        moment = Moment(self.now_us())
        return self._make(clock_us=lambda: moment.now_us, random=Random(1)), moment

    def now_us(self) -> int:
        """Return the server's time."""
        (now,) = self._client.execute([(b"TIME",)])
        seconds, micros = hiredis_reply(now)
        return int(seconds) * 1_000_000 + int(micros)

    def compare(self, model: RedisModel, program: Program, commands: Program) -> Difference | None:
        """Run ``commands``, the last ones of ``program``, on both; returns the first difference."""
        self.executed += len(commands)
        begin = len(program) - len(commands)
        for place, (command, real) in enumerate(zip(commands, self._client.execute(commands), strict=True)):
            simulated = self._answer(model, command, real)
            if simulated is not None:
                return Difference(program, begin + place, real, simulated)
        return None

    def _answer(self, model: RedisModel, command: Command, real: bytes) -> bytes | None:
        """Execute ``command``; what the model answers, if it differs."""
        name = command[0].upper()
        if (name in DRAWN or name == b"SPOP") and real[:1] != b"-":
            return self._drawn(model, name, command, real)
        reply = model.execute(command)
        simulated = encode(typed(command, reply), protocol=self._protocol)
        if simulated == real or same(name, real, simulated) or (name in SCANS and is_page(command, real, simulated)):
            return None
        return simulated

    def _drawn(self, model: RedisModel, name: bytes, command: Command, real: bytes) -> bytes | None:
        """Check that the server's draw is possible, and that the model draws alike."""
        if name == b"SPOP":
            popped = hiredis_reply(real)
            members = [] if popped is None else popped if isinstance(popped, list) else [popped]
            before = model.execute((b"SMEMBERS", command[1]))
            reply = model.execute(command)
            if isinstance(reply, list) or reply is not None:
                mine = reply if isinstance(reply, list) else [reply]
                model.execute((b"SADD", command[1], *mine)) if mine else None
            model.execute((b"SREM", command[1], *members)) if members else None
            possible = isinstance(before, list) and set(members) <= set(before)
        else:
            reply, possible = model.execute(command), True
        simulated = encode(typed(command, reply), protocol=self._protocol)
        return None if possible and _shape(simulated) == _shape(real) else simulated

    def shrink(self, found: Difference) -> Difference:
        """Return a difference by a program from which no command can be left out."""
        program, least = list(found.program[: found.place + 1]), found
        size = len(program) // 2
        while size:
            at = 0
            while at < len(program):
                now = self.difference(program[:at] + program[at + size :])
                shorter = [] if now is None else list(now.program[: now.place + 1])
                if now is not None and len(shorter) < len(program):
                    program, least = shorter, now
                else:
                    at += size
            size //= 2
        return least


def reads(key: bytes, kind: Reply) -> list[Command]:
    """The commands that read all of a key."""
    read: dict[bytes, Command] = {
        b"string": (b"GET", key),
        b"hash": (b"HGETALL", key),
        b"list": (b"LRANGE", key, b"0", b"-1"),
        b"set": (b"SMEMBERS", key),
        b"zset": (b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"),
        b"stream": (b"XINFO", b"STREAM", key, b"FULL", b"COUNT", b"0"),
    }
    assert isinstance(kind, bytes)
    return [(b"TYPE", key), read[bytes(kind)], (b"PTTL", key)]


def hiredis_reply(raw: bytes) -> Reply:
    reader = hiredis.Reader(replyError=ServerError)
    reader.feed(raw)
    reply: Reply = reader.gets()
    return reply


def same(name: bytes, real: bytes, simulated: bytes) -> bool:
    """Return whether two replies say the same, as far as the server promises."""
    if real[:1] == b"-":
        return simulated == real.decode("utf-8", "replace").encode()
    if name in UNORDERED:
        return _sorted(real) == _sorted(simulated) and real[:1] == simulated[:1]
    if name in NESTED or (name.startswith(b"EVAL") and (b"%" in real or b"~" in real)):
        return real[:1] == simulated[:1] and _in_order(hiredis_reply(real)) == _in_order(hiredis_reply(simulated))
    if name == b"OBJECT":
        return same_encoding(real, simulated)
    if name in MOMENTS:
        return _close(name, hiredis_reply(real), hiredis_reply(simulated))
    if name == b"XINFO":
        return CLOCKED.sub(rb"\1", real) == CLOCKED.sub(rb"\1", simulated)
    if name == b"XPENDING":
        pending = [comparable("XPENDING", hiredis_reply(each)) for each in (real, simulated)]
        return pending[0] == pending[1] and real[:1] == simulated[:1]
    return False


def is_page(command: Command, real: bytes, simulated: bytes) -> bool:
    """Return whether two replies to a scan are parts of it: what is on a page is up to the server."""
    replies = hiredis_reply(real), hiredis_reply(simulated)
    if not all(isinstance(reply, list) for reply in replies):
        return False
    begins = command[1 if command[0].upper() == b"SCAN" else 2] == b"0"
    return not begins or any(reply[0] != b"0" for reply in replies)


ENCODINGS = {
    b"raw": b"embstr",
    b"int": b"embstr",
    b"hashtable": b"listpack",
    b"intset": b"listpack",
    b"skiplist": b"listpack",
}
"""Encodings that a value keeps after it grew, and that which it has when it is written anew."""


def same_encoding(real: bytes, simulated: bytes) -> bool:
    """Return whether two replies to OBJECT ENCODING differ only by what a value was before."""
    words = [hiredis_reply(raw) for raw in (real, simulated)]
    return all(isinstance(word, bytes) for word in words) and len({ENCODINGS.get(word, word) for word in words}) == 1


def _sorted(raw: bytes) -> object:
    return _in_order(hiredis_reply(raw))


def _in_order(reply: Reply) -> object:
    if isinstance(reply, dict):
        return sorted(repr((key, _in_order(value))) for key, value in reply.items())
    if isinstance(reply, set | list):
        return sorted(map(repr, map(_in_order, reply)))
    return reply


def _close(name: bytes, real: Reply, simulated: Reply) -> bool:
    if isinstance(real, list) and isinstance(simulated, list) and len(real) == len(simulated):
        return all(_close(name, *pair) for pair in zip(real, simulated, strict=True))
    if not isinstance(real, int) or not isinstance(simulated, int) or real < 0 or simulated < 0:
        return real == simulated
    tolerance = TOLERANCE_MS if name.lstrip(b"H").startswith(b"P") else TOLERANCE_MS // 1000
    return abs(real - simulated) <= tolerance


def _shape(raw: bytes) -> object:
    """A reply without its texts."""
    return _bare(hiredis_reply(raw)), raw[:1]


def _bare(reply: Reply) -> object:
    if isinstance(reply, list | set):
        return [_bare(item) for item in reply]
    return type(reply).__name__


def scripted(random: Random, command: Command) -> Command:
    """Return a command as it is, or as the call of a script."""
    if random.random() > SCRIPTED or command[0].upper() in NOT_IN_SCRIPTS:
        return command
    return (b"EVAL", random.choice(CALLS), b"0", *command)


def compare(
    differ: Differ, commands: Commands, *, seed: int, count: int, family: str | None = None
) -> Difference | None:
    """Run programs until ``count`` commands were executed, of ``family`` or of each in turn; the first difference."""
    random, of_scripts = Random(seed), Random(f"scripts {seed}")
    families = [family] if family else [*commands.families, "mixed"]
    turn = 0
    while differ.executed < count:
        drawn = commands.program(random, families[turn % len(families)], PER_PROGRAM)
        program = [scripted(of_scripts, command) for command in drawn]
        found = differ.difference(program)
        if found is not None:
            return differ.shrink(found)
        turn += 1
    return None
