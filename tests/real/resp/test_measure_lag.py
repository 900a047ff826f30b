"""Goal: ``zonelab measure-lag`` measures what lies between, keeps it, and says who does not answer.

Method: a real server behind a proxy that delays each way. A delay is a bound from below on any machine, however busy.
"""

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.app.commands import Done, zonelab_here
from support.cluster.delaying_proxy import DelayingProxy
from support.cluster.servers import started_lab

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.scenarios.lags import probe

pytestmark = pytest.mark.real

WAY_S = 0.004


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of a server."""
    with started_lab("a") as lab:
        yield lab.cluster.zones["a"].address.port


@pytest.fixture
def proxy(server: int) -> Iterator[DelayingProxy]:
    with DelayingProxy(server, delay_s=lambda: WAY_S) as between:
        yield between


def measure_lag(*words: object, cwd: Path) -> Done:
    return zonelab_here("measure-lag", *map(str, words), cwd=cwd)


def test_one_way_is_half_of_a_round_trip_and_scenarios_take_the_trace_and_the_fit(
    server, proxy, tmp_path: Path
) -> None:
    addresses = [f"127.0.0.1:{port}" for port in (proxy.port, server)]
    done = measure_lag(*addresses, "--for", "1s", "--out", "lags", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    far, near = json.loads(done.stdout)["measured"]
    assert (far["address"], far["measured"], far["command"]) == (addresses[0], "one way", "PING")
    assert far["quantiles_ms"]["p50"] >= 1_000 * WAY_S
    assert far["unanswered"] == near["unanswered"] == 0
    trace = parse_lag(f"trace:{tmp_path / far['trace']}")
    assert len(trace.delays_ms) == far["answers"] >= 10
    assert min(trace.delays_ms) >= 1_000 * WAY_S
    assert str(parse_lag(far["fits"][0]["lag"])) == far["fits"][0]["lag"]
    assert (tmp_path / far["figure"]).read_bytes().startswith(b"\x89PNG")
    assert sorted(path.suffix for path in (tmp_path / "lags").iterdir()) == [".csv", ".csv", ".png", ".png"]


def test_a_read_is_told_as_a_whole_and_the_table_names_files_and_lag(proxy, tmp_path: Path) -> None:
    done = measure_lag(f"127.0.0.1:{proxy.port}", "--with", "GET", "--for", "300ms", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ", wait" in done.stdout
    assert "--lag" not in done.stdout
    assert min(parse_lag(f"trace:{next((tmp_path / 'lags').glob('*.csv'))}").delays_ms) >= 2_000 * WAY_S
    done = measure_lag(f"127.0.0.1:{proxy.port}", "--for", "300ms", cwd=tmp_path)
    assert re.search(
        r"--lag '.+ms.*', or with all that no fit has: --lag trace:lags/127\.0\.0\.1-\d+\.csv", done.stdout
    )
    assert "half of a round trip" in done.stdout


def test_ctrl_c_keeps_what_was_measured(proxy, tmp_path: Path) -> None:
    def interrupt() -> None:
        while proxy.pieces < 20:
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt, daemon=True)
    waiting.start()
    done = measure_lag(f"127.0.0.1:{proxy.port}", "--for", "1h", "--json", cwd=tmp_path)
    waiting.join(30)
    told = json.loads(done.stdout)
    assert (done.returncode, told["interrupted"]) == (2, True)
    assert told["measured"][0]["answers"] >= 5


def test_a_server_that_falls_silent_is_told_and_what_was_measured_is_kept(proxy, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(probe, "ANSWER_S", 0.3)

    def silence() -> None:
        while proxy.pieces < 20:
            threading.Event().wait(0.01)
        proxy.mute = True

    threading.Thread(target=silence, daemon=True).start()
    done = measure_lag(f"127.0.0.1:{proxy.port}", "--for", "1h", "--json", cwd=tmp_path)
    assert done.returncode == 3
    assert json.loads(done.stdout)["problems"] == [f"127.0.0.1:{proxy.port}: does not answer: nothing for 0.3 s"]
    assert len(list((tmp_path / "lags").iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("127.0.0.1:1", "--for", "1s"), 3, "127.0.0.1:1: does not answer: "),
        (("somewhere", "--for", "1s"), 64, "address 'somewhere': accepted: HOST:PORT with a port of 1 to 65535"),
        (("127.0.0.1:0",), 64, "address '127.0.0.1:0': accepted: HOST:PORT"),
        (("127.0.0.1:1", "127.0.0.1:1"), 64, "addresses 127.0.0.1:1, 127.0.0.1:1: accepted: each once"),
        (("127.0.0.1:1", "--for", "0s"), 64, "duration: got '0s'"),
        (("127.0.0.1:1", "--for", "1s", "--every", "2s"), 64, "--for 1s --every 2s: accepted: --for up to 24h"),
        (("127.0.0.1:1", "--with", "SET"), 64, "'SET' (did you mean GET?) is not one of 'PING', 'GET'"),
    ],
)
def test_what_cannot_be_is_one_line(words: tuple[str, ...], code: int, told: str, tmp_path: Path) -> None:
    done = measure_lag(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("zonelab: ")]
    assert told in line
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_server_is_told(proxy, tmp_path: Path) -> None:
    with started_lab("a") as lab:
        lab.run(lab.direct("a").execute(("CONFIG", "SET", "requirepass", "secret")))
        port = lab.cluster.zones["a"].address.port
        done = measure_lag(f"127.0.0.1:{port}", "--for", "1s", cwd=tmp_path)
        lab.run(lab.direct("a").execute(("CONFIG", "SET", "requirepass", "")))
    assert done.returncode == 3
    assert f"zonelab: 127.0.0.1:{port}: answers 'NOAUTH Authentication required.'" in done.stderr
