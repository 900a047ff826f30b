"""Goal: a soak on real servers is followed while it runs; Ctrl-C ends that, and it goes on from there to the end."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from support.programs import until
from support.scenarios.short_runs import zonelab_command

pytestmark = [pytest.mark.java, pytest.mark.real]

PATIENCE_S = 400.0
SOAK = ("run", "zone-crash", "--on", "process", "--set", "load.duration_s=600", "--set", "drain.bound_s=20")


def begun(*words: str, at: Path, log: str) -> subprocess.Popen[bytes]:
    with (at / log).open("wb") as told:
        return subprocess.Popen(zonelab_command(*words), cwd=at, stdout=subprocess.DEVNULL, stderr=told)


def test_a_soak_is_followed_over_a_restart_to_its_end(tmp_path: Path) -> None:
    words = ("analyze", "runs/zone-crash/2*", "--out", "tables", "--follow")
    soak = begun(*SOAK, at=tmp_path, log="soak")

    def shown(log: str) -> str:
        return (tmp_path / log).read_text()

    try:
        until(
            lambda: list(tmp_path.glob("runs/zone-crash/2*/history/operations-*[0-9].parquet")), patience_s=PATIENCE_S
        )
        first = begun(*words, at=tmp_path, log="first")
        until(lambda: "lateness p50" in shown("first"), patience_s=PATIENCE_S)
        first.send_signal(signal.SIGINT)
        assert first.wait(PATIENCE_S) == 2
        assert shown("first").splitlines()[-1] == "zonelab: interrupted"
        assert "Traceback" not in shown("first")
        counted = len(list(tmp_path.glob("tables/following/*/checkpoint/commits/[0-9]*")))
        second = begun(*words, at=tmp_path, log="second")
        until(lambda: "lateness p50" in shown("second"), patience_s=PATIENCE_S)
        soak.send_signal(signal.SIGINT)
        assert second.wait(PATIENCE_S) == 0, shown("second")
    finally:
        soak.send_signal(signal.SIGINT)
        soak.wait(PATIENCE_S)
    assert counted > 0
    assert "(interrupted)" in shown("second")
    assert not (tmp_path / "tables" / "following").exists()
    (run,) = tmp_path.glob("runs/zone-crash/2*")
    (entry,) = (tmp_path / "tables" / "manifest").glob("run-*.json")
    assert json.loads(entry.read_text())["run_id"] == json.loads((run / "run.json").read_text())["run_id"]
