"""Goal: ``zonelab try`` makes a run of a producer, a worker and a fault, and exits with its verdict.

Method: the command line on process zones, with a small queue in Python; a sound one, and one that is early.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.programs import HANGS_S

pytestmark = pytest.mark.real

GUESTS = Path(__file__).parents[2] / "support" / "guests"


def tried(folder: Path, *options: str, bug: str = "") -> tuple[int, dict[str, Any], str]:
    words = [sys.executable, "-m", "zonelab", "try", "--json", "--quiet", "2s", "--worker-zone", "a", "--drain", "60s"]
    guest = f"{sys.executable} {GUESTS / ('buggy_queue.py' if bug else 'sound_queue.py')}"
    words += ["--producer", f"{guest} push {{url}} {bug} 40", "--worker", f"{guest} work {{url}} {bug}", *options]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=HANGS_S, check=False)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def test_a_sound_queue_is_valid_and_has_a_report(tmp_path: Path) -> None:
    code, said, _ = tried(tmp_path, "--fault", "kill b for 1s", "--lag", "1ms", "--seed", "7")
    assert (code, said["valid"], said["seed"]) == (0, True, 7)
    assert "40 messages were sent to the queue, and 40 of them accepted" in said["sentences"][1]
    report = Path(said["report"] or "")
    assert "kill b" in (tmp_path / report).read_text()


def test_a_queue_that_is_early_is_invalid(tmp_path: Path) -> None:
    code, said, _ = tried(tmp_path, "--zones", "1", bug="early")
    assert (code, said["valid"]) == (1, False)
    counts = said["verdict"]["sections"]["queue"]["counts"]
    assert {name for name, count in counts.items() if count} == {"early"}


def test_a_fault_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    code, _, error = tried(tmp_path, "--fault", "kill d for 1s")
    assert (code, error.splitlines()) == (
        64,
        ["zonelab: try: faults[0].zone: got 'd'; accepted: a zone of the topology (a, b, c)"],
    )


def test_a_hunt_refuses_programs_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("{name: own, load: {duration_s: 1}, programs: {worker: {command: work}}}")
    words = [sys.executable, "-m", "zonelab", "hunt", "own.yaml", "--runs", "1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (
        64,
        ["zonelab: own.yaml: programs: a hunt simulates, and programs run beside real servers: zonelab run"],
    )
