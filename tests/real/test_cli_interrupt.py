"""Goal: Ctrl-C at any moment ends a run in order: its record is written, nothing is left running, the verdict is open.
And of a run whose lab is killed everything but the last seconds can be read.

Method: the command line as a subprocess with a temporary directory of its own, signalled when it names a phase.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.programs import HANGS_S
from support.scenarios.short_runs import scenario_file, servers_of, zonelab_command

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import KILLED
from zonelab.analysis.runs.segments import segments_of

pytestmark = pytest.mark.real


def interrupted(directory: Path, *, phase: str, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
    """Send ``number`` once stderr names ``phase``; the exit code and all of stderr."""
    servers = directory / "servers"
    servers.mkdir()
    # One message stays leased for longer than the run, so the drain phase is there to be interrupted.
    load = {"duration_s": 1 if phase == "drain" else 5}
    path = scenario_file(directory, load=load, consumers={"processing": "constant:9s"})
    process = subprocess.Popen(
        zonelab_command("run", str(path)),
        cwd=directory,
        env={**os.environ, "TMPDIR": str(servers)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if f": {phase}" in line:
            process.send_signal(number)
            break
    _, rest = process.communicate(timeout=HANGS_S)
    assert servers_of(str(servers)) == []
    assert list(servers.iterdir()) == []
    return process.returncode, "".join(lines) + rest


@pytest.mark.parametrize("phase", ["load", "drain"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_written_and_its_verdict_is_unknown(
    tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    code, err = interrupted(tmp_path, phase=phase, number=number)
    assert code == 2, err
    assert "Traceback" not in err
    run = (tmp_path / "runs" / "short" / "latest").resolve()
    told = json.loads((run / "run.json").read_text())
    assert (told["status"], told["error"]) == ("interrupted", "interrupted by the user")
    assert json.loads((run / "verdict.json").read_text())["valid"] == "unknown"
    assert [path.name for path in run.rglob("*.partial")] == []


def test_an_interruption_during_set_up_leaves_nothing(tmp_path: Path) -> None:
    code, err = interrupted(tmp_path, phase="set-up")
    assert code == 2, err
    assert "Traceback" not in err
    run = (tmp_path / "runs" / "short" / "latest").resolve()
    assert json.loads((run / "run.json").read_text())["status"] == "interrupted"


def test_of_a_run_whose_lab_is_killed_all_but_the_last_segment_can_be_read(tmp_path: Path) -> None:
    servers = tmp_path / "servers"
    servers.mkdir()
    kill = {"kind": "kill", "zone": "b", "at_s": 1, "for_s": 500}
    path = scenario_file(tmp_path, load={"duration_s": 600}, faults=[kill])
    with subprocess.Popen(
        zonelab_command("run", str(path)),
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(servers)},
        stderr=subprocess.DEVNULL,
    ) as process:
        run = _with_segment(tmp_path / "runs" / "short" / "latest", process)
        assert RunDirectory.open(run).info.status == "running"
        process.kill()
    directory = RunDirectory.open(run)
    assert (directory.info.status, directory.info.error) == ("interrupted", KILLED)
    assert [(fault.kind, fault.end_ns) for fault in directory.faults()] == [("kill", None)]
    begin_ns, end_ns = directory.info.phases["load"]
    assert end_ns - begin_ns > 3_000_000_000
    for verb, code in (("check", 2), ("report", 0), ("analyze", 0)):
        done = subprocess.run(
            zonelab_command(verb, str(run)), cwd=tmp_path, capture_output=True, text=True, timeout=HANGS_S
        )
        assert done.returncode == code, done.stderr
    assert done.stderr.startswith("analyze: 1 run with "), "said before Spark starts"
    verdict = json.loads((run / "verdict.json").read_text())
    queue = verdict["sections"]["queue"]
    assert queue["totals"]["delivered"] > 0
    assert (queue["counts"]["lost"], queue["counts"]["stuck"]) == (0, 0)
    assert f"the run was interrupted: {KILLED}" in verdict["reasons"]


def _with_segment(latest: Path, lab: subprocess.Popen[bytes]) -> Path:
    deadline_s = time.monotonic() + HANGS_S
    while not segments_of(latest, "operations"):
        assert lab.poll() is None, f"the lab ended with {lab.returncode}"
        assert time.monotonic() < deadline_s, "no segment was closed"
        time.sleep(0.05)
    return latest.resolve()
