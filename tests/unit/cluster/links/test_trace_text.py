"""Goal: files of delays are read as people have them; what was guessed is said, and no file is shown that is not one.

Method: the output of tools and tables, written into a file; files that are no delays, or no files.
"""

import logging
import os
from pathlib import Path

import pytest

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.trace_text import BYTES_MAX, read_trace

PING = """PING zone-b (10.0.1.7) 56(84) bytes of data.
64 bytes from 10.0.1.7: icmp_seq=1 ttl=63 time=0.412 ms
Request timeout for icmp_seq 2
64 bytes from 10.0.1.7: icmp_seq=3 ttl=63 time=1.2 ms

--- zone-b ping statistics ---
3 packets transmitted, 2 received, 33% packet loss, time 2003ms
rtt min/avg/max/mdev = 0.412/0.806/1.200/0.394 ms
"""
PING_OF_WINDOWS = """Pinging 10.0.1.7 with 32 bytes of data:
Reply from 10.0.1.7: bytes=32 time=12ms TTL=63
Reply from 10.0.1.7: bytes=32 time<1ms TTL=63

Ping statistics for 10.0.1.7:
    Packets: Sent = 2, Received = 2, Lost = 0 (0% loss),
Approximate round trip times in milli-seconds:
    Minimum = 0ms, Maximum = 12ms, Average = 6ms
"""
HISTORY = """min: 0, max: 3, avg: 0.22 (1364 samples) -- 15.01 seconds range
\x1b[0G\x1b[2Kmin: 0, max: 1, avg: 0.20 (1365 samples) -- 15.00 seconds range
"""

READ = {
    "1\n2.5\n\n3\n": [1, 2.5, 3],
    "1\r\n2\r\n": [1, 2],
    "\ufeff1\n2\n": [1, 2],
    "lag_ms\n1\n": [1],
    "delay_us\n500\n": [0.5],
    "time;delay (s)\n1;0,5\n": [500],
    "300us\n300 µs\n0.5 s\n2ms\n100 ns": [0.3, 0.3, 500, 2, 0.0001],
    "0,45\n0,5\n12,25\n1,0\n": [0.45, 0.5, 12.25, 1],
    "0,45 ms\n": [0.45],
    "1700000000,12\n1700000001,13\n": [12, 13],
    "1700000000,12\n1700000000,13\n": [12, 13],
    "n,delay\n1,12\n2,11\n3,13\n": [12, 11, 13],
    "delay_ms\n1,12\n2,11\n3,13\n": [1.12, 2.11, 3.13],
    "delay, ms\n1,12\n2,11\n3,13\n": [1.12, 2.11, 3.13],
    "1,12\n2, 11\n3,13\n": [12, 11, 13],
    "1,12\n2,0.5\n3,13\n": [12, 0.5, 13],
    "1,12\n2,05\n3,13\n": [1.12, 2.05, 3.13],
    "0,12\n0,25\n3,13\n": [0.12, 0.25, 3.13],
    "1,25": [1.25],
    "".join(f"{number},{number % 3}\n" for number in range(10)): [number % 3 for number in range(10)],
    "1700000000.25 0.4\n1700000001.25 0.5\n": [0.4, 0.5],
    "2026-11-28T04:00:00.5Z,0.4\n2026-11-28 04:00:01;0,5 ms\n04:00:02\t0.6\n": [0.4, 0.5, 0.6],
    "1e-1\n.5\n": [0.1, 0.5],
    PING: [0.206, 0.6],
    PING_OF_WINDOWS: [6, 0.5],
    HISTORY: [0.11, 0.1],
    "0 3 0.22 1364\n0 1 0.20 1365\n": [0.11, 0.1],
}

SAID = {
    "1\n": [],
    "lag_ms\n1\n": ["line 1 taken as header; numbers without a unit are taken as ms"],
    "delay_us\n500\n": ["line 1 taken as header; numbers without a unit are taken as us"],
    "1 2\n3 4\n": ["two columns: the delays are taken from the second"],
    PING: ["output of ping: one way is taken to be half of each round trip"],
    HISTORY: ["output of redis-cli: one way is taken to be half of each average, and there is no tail"],
}

REFUSED = {
    "": "holds no delays",
    "lag_ms\n": "holds no delays",
    "1\n-2\n": "line 2: expected milliseconds from 0 to 3155760000000, or a number with a unit .*, got '-2'",
    "1\nnan\n": "line 2: .*, got 'nan'",
    "nan\n1\n": "line 1: .*, got 'nan'",
    "-1\n1\n": "line 1: .*, got '-1'",
    "9e999\n": "line 1: expected ",
    f"{'9' * 400}\n": "line 1: expected ",
    "1\n1.2.3\n": "line 2: .*, got '1.2.3'",
    "1,25\n2,50\n3,75\n": "line 1: got '1,25', where .* before decimals or between two columns; accepted: a point ",
    "\n1,25 ms\n12,5 ms\n": "line 2: got '1,25 ms', where",
    "".join(f"{number},{number % 3}\n" for number in range(9)): "line 1: got '0,0', where",
    f"{PING}x\n": "line 9: expected ",
    f"{HISTORY}x\n": "line 3: expected ",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lags.csv"


@pytest.mark.parametrize(("text", "delays_ms"), READ.items(), ids=range(len(READ)))
def test_delays_are_read_as_tools_write_them(path: Path, text: str, delays_ms: list[float]):
    path.write_text(text, encoding="utf-8", newline="")
    assert read_trace(str(path)).delays_ms == pytest.approx(delays_ms)


@pytest.mark.parametrize(("text", "said"), SAID.items(), ids=range(len(SAID)))
def test_what_was_guessed_is_said_once(path: Path, text: str, said: list[str], caplog: pytest.LogCaptureFixture):
    path.write_text(text, encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        parse_lag(f"trace:{path}")
        parse_lag(f"trace:{path}")
    assert caplog.messages == [f"lag trace {str(path)!r}: {words}" for words in said]


@pytest.mark.parametrize(("text", "told"), REFUSED.items(), ids=range(len(REFUSED)))
def test_a_bad_trace_is_refused_with_its_path_and_line(path: Path, text: str, told: str):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"lag trace '{path}'.*{told}"):
        read_trace(str(path))


def test_a_line_that_is_no_number_is_not_shown(path: Path):
    path.write_text("root:x:0:0:root\nhidden:x:1:1:daemon\n")
    with pytest.raises(ValueError, match="line 2: expected ") as error:
        read_trace(str(path))
    assert "hidden" not in str(error.value)
    assert "root:x" not in str(error.value)


@pytest.mark.parametrize("kind", ["/dev/zero", "FIFO", "folder", "too large", "not UTF-8"])
def test_only_regular_files_of_a_bounded_size_are_read(kind: str, path: Path):
    match kind:
        case "FIFO":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "too large":
            with open(path, "wb") as file:
                file.truncate(BYTES_MAX + 1)
        case "not UTF-8":
            path.write_bytes(b"\xff\xfe\n")
        case _:
            path = Path(kind)
    with pytest.raises(ValueError, match=f"cannot read lag trace '{path}': "):
        read_trace(str(path))
