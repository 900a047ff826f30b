"""Goal: the commands of a process are kept, cut short, up to a bound."""

import json
from itertools import count
from pathlib import Path

from zonelab.cluster.resp.protocol import wire
from zonelab.scenarios.programs.command_record import CommandRecord


def test_commands_are_recorded_up_to_a_bound(tmp_path: Path) -> None:
    times = count(1)
    record = CommandRecord(tmp_path / "it", wall_ns=lambda: next(times), most=2)
    for value in (b"1", b"\xff\n" + b"2" * 100, b"3", b"4"):
        record.add("127.0.0.1:9", wire.command(b"SET", b"k", value))
    record.close()
    record.add("127.0.0.1:9", wire.command(b"GET", b"k"))
    assert [json.loads(line) for line in (tmp_path / "it").read_text().splitlines()] == [
        {"t_ns": 1, "connection": "127.0.0.1:9", "command": "SET k 1"},
        {"t_ns": 2, "connection": "127.0.0.1:9", "command": "SET k \ufffd\ufffd" + "2" * 38 + "…"},
        {"cut": True},
    ]
