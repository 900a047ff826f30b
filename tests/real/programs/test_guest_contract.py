"""Goal: a sound queue in any language is valid under what it promises to stand; planted bugs in it are found.

Method: ``zonelab try`` with a queue of 74 to 126 lines in Python, Node and Go, whose worker is killed or stopped at a
command, and one of whose zones dies. What a language lacks here is skipped with its name.
"""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from support.programs import HANGS_S

pytestmark = pytest.mark.real

GUESTS = Path(__file__).parents[2] / "support" / "guests"

_AT = "at 100ms for 3s at-command 5 at '{}'"
AT_TAKE = f"program_kill worker {_AT.format('EVAL *ZRANGEBYSCORE* 2 due')} nonempty true when applied"
AT_WORK = f"program_kill worker {_AT.format('EVAL *worked* 2 due')}"
STOPPED_AT_WORK = f"{AT_WORK} how SIGSTOP pause-s 0.6"
ZONE = "kill b restart warm at 100ms for 1s"

BUGS = {
    "lost": (AT_TAKE, "lost"),
    "early": (None, "early"),
    "early-ack": (AT_WORK, "abandoned"),
    "double": (STOPPED_AT_WORK, "concurrent"),
}
"""By name: the fault under which it shows, and the class of its cases."""


def python() -> str:
    return f"{sys.executable} {GUESTS / 'sound_queue.py'}"


def node() -> str:
    if shutil.which("node") is None:
        pytest.skip("no node on the PATH")
    return f"node {GUESTS / 'sound_queue.js'}"


@cache
def _built() -> str:
    program = Path(mkdtemp(prefix="zonelab-guest-")) / "sound_queue"
    subprocess.run(
        ["go", "build", "-o", str(program), str(GUESTS / "sound_queue.go")], check=True, timeout=HANGS_S, cwd="/"
    )
    return str(program)


def go() -> str:
    if shutil.which("go") is None:
        pytest.skip("no go on the PATH")
    return _built()


def tried(folder: Path, guest: str, fault: str | None, bug: str = "") -> tuple[int, dict[str, int], dict[str, Any]]:
    """Return exit code, the classes that are not empty with their counts, and all that it printed."""
    words = ["try", "--json", "--quiet", "2s", "--worker-zone", "a", "--workers", "2", "--drain", "120s"]
    words += ["--producer", f"{guest} push {{url}} 60 {bug}", "--worker", f"{guest} work {{url}} {bug}"]
    words += ["--fault", fault] if fault else []
    done = subprocess.run(
        [sys.executable, "-m", "zonelab", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    assert said["verdict"] is not None, said
    section = said["verdict"]["sections"]["queue"]
    return done.returncode, {name: count for name, count in section["counts"].items() if count}, said


@pytest.mark.parametrize(
    ("guest", "fault"),
    [
        *((python, fault) for fault in (AT_TAKE, AT_WORK, STOPPED_AT_WORK, ZONE)),
        *((guest, fault) for guest in (node, go) for fault in (AT_TAKE, ZONE)),
    ],
)
def test_a_sound_queue_is_valid(tmp_path: Path, guest: Any, fault: str) -> None:
    code, found, said = tried(tmp_path, guest(), fault)
    assert (code, said["valid"], said["verdict"]["reasons"]) == (0, True, [])
    assert set(found) <= {"redelivered", "zombie_ack", "overlap"}
    programs = json.loads((tmp_path / said["run"] / "run.json").read_text())["programs"]
    assert fault == ZONE or programs["worker-a-0"]["strikes"][0]["hit"]
    assert "60 messages were sent to the queue, and 60 of them accepted" in said["sentences"][1]


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(tmp_path: Path, bug: str) -> None:
    fault, expected = BUGS[bug]
    code, found, _ = tried(tmp_path, python(), fault, bug)
    assert code == 1
    assert expected in found


@pytest.mark.parametrize("guest", [node, go])
def test_a_planted_bug_is_found_in_other_languages(tmp_path: Path, guest: Any) -> None:
    code, found, _ = tried(tmp_path, guest(), AT_TAKE, "lost")
    assert (code, found["lost"]) == (1, 1)
