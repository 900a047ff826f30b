"""Goal: a soak on real servers is followed from the command line while it runs, and analysed when it is over."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from support.programs import until
from support.scenarios.short_runs import zonelab_command

pytestmark = [pytest.mark.java, pytest.mark.real]

PATIENCE_S = 500.0
"""Java starts twice, on a machine that may be busy."""

SLOW = ("--set", "load.rate_per_s=5", "--set", "consumers.per_zone=1")
"""Spark shall have most of the machine."""

SOAK = ("run", "zone-crash", "--on", "process", "--set", "load.duration_s=1000", "--set", "drain.bound_s=5", *SLOW)


def begun(*words: str, at: Path, told: Path) -> subprocess.Popen[bytes]:
    with told.open("wb") as errors, told.with_suffix(".out").open("wb") as out:
        return subprocess.Popen(zonelab_command(*words), cwd=at, stdout=out, stderr=errors)


def test_a_soak_is_followed_to_its_end(tmp_path: Path) -> None:
    told = tmp_path / "follow.err"
    programs = [begun(*SOAK, at=tmp_path, told=tmp_path / "soak.err")]
    try:
        until(lambda: list(tmp_path.glob("runs/zone-crash/2*/history/operations-*[0-9].parquet")))
        (run,) = tmp_path.glob("runs/zone-crash/2*")
        programs.append(begun("analyze", str(run), "--out", "tables", "--follow", "--json", at=tmp_path, told=told))
        until(lambda: "lateness p50" in told.read_text(), patience_s=PATIENCE_S)
        programs[0].send_signal(signal.SIGINT)
        assert programs[1].wait(PATIENCE_S) == 0, told.read_text()
    finally:
        for program in reversed(programs):
            program.send_signal(signal.SIGINT)
            program.wait(PATIENCE_S)
    assert "(interrupted)" in told.read_text().splitlines()[-1]
    (settings,) = json.loads(told.with_suffix(".out").read_text())["settings"]
    assert settings["totals"]["pushed"] > 0
    assert [path.name for path in (tmp_path / "tables" / "manifest").iterdir()] == [
        f"run-{json.loads((run / 'run.json').read_text())['run_id']}.json"
    ]
    assert list((tmp_path / "tables" / "following").iterdir()) == []
