"""Goal: the commands of a process are kept, cut short, up to a bound, whatever pieces they arrive in."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from support.coroutines import coroutine

from zonelab.cluster.resp.protocol import wire
from zonelab.scenarios.programs.command_record import CommandRecord

DEADLINE_S = 60.0


def recorded(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@coroutine
async def test_commands_are_recorded_up_to_a_bound(tmp_path: Path) -> None:
    times = count(1)
    with closing(CommandRecord(tmp_path / "it", wall_ns=lambda: next(times), most=3)) as kept:
        take, other = kept.connection("127.0.0.1:9", program="w"), kept.connection("127.0.0.1:8", program="w.2")
        take(wire.command(b"SET", b"k", b"1"))
        other(wire.command(b"MSET", *[b'"'] * 8))
        for value in (b"\xff\n" + b"2" * 100, b"3", b"4"):
            take(wire.command(b"SET", b"k", value))
    take(wire.command(b"GET", b"k"))
    assert recorded(tmp_path / "it") == [
        {"t_ns": 1, "program": "w", "connection": "127.0.0.1:9", "command": "SET k 1"},
        {"t_ns": 2, "program": "w.2", "connection": "127.0.0.1:8", "command": "MSET" + ' "' * 7 + " … (9 words)"},
        {"t_ns": 3, "program": "w", "connection": "127.0.0.1:9", "command": "SET k \ufffd\ufffd" + "2" * 38 + "…"},
        {"cut": True},
    ]


@coroutine
async def test_a_command_is_recorded_when_it_is_complete(tmp_path: Path) -> None:
    """However it is cut, or sent by hand, and what is no command ends the record of its connection alone."""
    times = count(1)
    with closing(CommandRecord(tmp_path / "it", wall_ns=lambda: next(times))) as kept:
        take, other = kept.connection("a", program="w"), kept.connection("b", program="w")
        for piece in pieces(wire.command(b"SET", b"k", b"1") + wire.command(b"GET", b"k"), 20):
            take(piece)
        other(b"*1\r\n$4\r\nPI")
        take(b"ping 'a b'\r\nPING\r\n" + wire.command(b"GET", b"j"))
        other(b"NG\r\n*x\r\n")
        other(wire.command(b"GET", b"never"))
        take(wire.command(b"GET", b"l"))
    assert [(line["t_ns"], line["connection"], line["command"]) for line in recorded(tmp_path / "it")] == [
        (2, "a", "SET k 1"),
        (3, "a", "GET k"),
        (5, "a", "ping a b"),
        (5, "a", "PING"),
        (5, "a", "GET j"),
        (6, "b", "PING"),
        (8, "a", "GET l"),
    ]


@coroutine
async def test_what_is_recorded_is_soon_in_the_file(tmp_path: Path) -> None:
    """A lab that is killed ends no record."""
    path = tmp_path / "it"
    long = wire.command(b"SET", b"k", b"v" * 10_000_000)
    with closing(CommandRecord(path, wall_ns=lambda: 1)) as kept:
        take = kept.connection("a", program="w")
        expected = []
        for data, shown in ((wire.command(b"GET", b"k"), "GET k"), (long, f"SET k {'v' * 40}…")) * 2:
            for piece in pieces(data, 1 << 18):
                take(piece)
            expected.append(shown)
            async with asyncio.timeout(DEADLINE_S):
                while [line["command"] for line in recorded(path)] != expected:  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
