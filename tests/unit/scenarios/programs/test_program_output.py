"""Goal: what a program writes becomes events and a log, however it is cut; memory and disk stay bounded.

Method: the same text fed in pieces of every size; a collector of one process with a clock of the test.
"""

import json
import os
from pathlib import Path

import pytest

from zonelab.scenarios.programs.bounded_log import BoundedLog
from zonelab.scenarios.programs.collected import CollectedEvents, EventSource
from zonelab.scenarios.programs.lines import LineSplitter, WrittenLine

NOW_NS = 1_700_000_000_000_000_000


@pytest.mark.parametrize("size", range(1, 12))
def test_lines_do_not_depend_on_how_they_come(size: int) -> None:
    text = b"one\n\ntwo is long\nlast"
    splitter, lines = LineSplitter(most=5), []
    for first in range(0, len(text), size):
        lines += splitter.feed(text[first : first + size])
    assert [*lines, *splitter.last()] == [
        WrittenLine(1, b"one"),
        WrittenLine(2, b""),
        WrittenLine(3, b"two i", 6),
        WrittenLine(4, b"last", 0, whole=False),
    ]


def test_a_log_keeps_its_begin_and_its_end(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log", most=20)
    for line in (b"first and long\n", b"second\n", b"third\n", b"x\n"):
        log.write(line)
    assert (log.left_out, log.last_line) == (10, "x")
    log.close()
    assert (tmp_path / "log").read_bytes().decode() == "first and long\nsec\n… 10 bytes left out …\nx\n"


def test_a_log_that_fits_is_whole(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log", most=20)
    for line in (b"first and long\n", b"2nd\n", b"3"):
        log.write(line)
    log.close()
    assert (log.left_out, (tmp_path / "log").read_bytes()) == (0, b"first and long\n2nd\n3")


def collector(folder: Path) -> CollectedEvents:
    events = CollectedEvents(folder)
    events.add(EventSource(name="worker-a-0", zone="a"), now_ns=NOW_NS)
    return events


def take(events: CollectedEvents, text: str, *, now_ns: int = NOW_NS) -> bool:
    return events.take("worker-a-0", WrittenLine(1, text.encode()), now_ns=now_ns)


def test_an_event_without_time_and_names_gets_them(tmp_path: Path) -> None:
    events = collector(tmp_path)
    assert take(events, '{"op": "push", "id": "1"}')
    assert take(events, f'{{"op": "accepted", "id": "1", "t_ns": {NOW_NS + 5}, "program": "p", "zone": "z"}}')
    assert not take(events, "ready")
    assert not take(events, '{"level": "info"}')
    (log,) = events.logs()
    assert [json.loads(line) for line in log.data.splitlines()] == [
        {"op": "push", "id": "1", "t_ns": NOW_NS, "program": "worker-a-0", "zone": "a"},
        {"op": "accepted", "id": "1", "t_ns": NOW_NS + 5, "program": "p", "zone": "z"},
    ]
    assert events.problems() == []
    events.close()


def test_a_queue_is_not_quiet_while_a_delay_or_a_lease_is_open(tmp_path: Path) -> None:
    events = collector(tmp_path)
    take(events, '{"op": "push", "id": "1", "delay_ms": 500}')
    assert events.quiet_since_ns(now_ns=NOW_NS) == NOW_NS + 500_000_000
    take(events, '{"op": "begin", "id": "1", "lease_ms": 2000}')
    assert events.quiet_since_ns(now_ns=NOW_NS) == NOW_NS + 2_000_000_000
    take(events, '{"op": "end", "id": "1"}')
    assert events.quiet_since_ns(now_ns=NOW_NS) == NOW_NS + 500_000_000
    (tmp_path / "programs" / "worker-a-0.own.jsonl").write_text("{}\n")
    later_ns = NOW_NS + 9_000_000_000
    assert events.quiet_since_ns(now_ns=later_ns) == later_ns
    events.close()


def test_problems_of_one_process_do_not_flood(tmp_path: Path) -> None:
    events = collector(tmp_path)
    for number in range(1, 8):
        events.take("worker-a-0", WrittenLine(number, b'{"op": "pushed", "id": "1"}'), now_ns=NOW_NS)
    assert len(events.problems()) == 5
    assert events.problems()[-1].endswith("(2 more like it)")
    events.close()


def test_a_clock_that_is_a_minute_off_is_named_with_its_line_either_way(tmp_path: Path) -> None:
    events = collector(tmp_path)
    for wrong_s in (0, 60, -60):
        take(events, f'{{"op": "push", "id": "1", "t_ns": {NOW_NS + wrong_s * 10**9}}}', now_ns=NOW_NS + 10**9)
    own = tmp_path / "programs" / "worker-a-0.own.jsonl"
    times_ns = [NOW_NS, NOW_NS - 60 * 10**9, NOW_NS + 62 * 10**9]
    own.write_text("".join(f'{{"op": "begin", "id": "1", "t_ns": {at_ns}}}\n' for at_ns in times_ns))
    os.utime(own, ns=(NOW_NS + 2 * 10**9, NOW_NS + 2 * 10**9))
    for _ in range(2):
        events.logs()
    assert events.problems() == [
        "program worker-a-0: line 1 of its output has a time 59 s ahead of the clock of the lab",
        "program worker-a-0: line 1 of its output has a time 60 s before the program was started",
        "program worker-a-0: line 2 of programs/worker-a-0.own.jsonl has a time 60 s before the program was started",
        "program worker-a-0: line 3 of programs/worker-a-0.own.jsonl has a time 60 s ahead of the clock of the lab",
    ]
    events.close()
