"""Goal: Ctrl-C at any moment ends a run in order: its record is written, nothing is left running, the verdict is open.

Method: the command line as a subprocess with a temporary directory of its own, signalled when it names a phase.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.scenarios.short_runs import scenario_file, servers_of, zonelab_command

pytestmark = pytest.mark.real


def interrupted(directory: Path, *, phase: str, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
    """Send ``number`` once stderr names ``phase``; the exit code and all of stderr."""
    servers = directory / "servers"
    servers.mkdir()
    # One message stays leased for longer than the run, so the drain phase is there to be interrupted.
    path = scenario_file(directory, load={"duration_s": 5}, consumers={"processing": "constant:9s"})
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
    _, rest = process.communicate(timeout=60)
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
