"""Goal: a sound queue in any language is valid under what it promises to stand; planted bugs in it are found.

Method: ``zonelab try`` with a queue of 74 to 126 lines in Python, Node and Go, whose worker is killed or stopped at a
command, and one of whose zones dies. What a language lacks here is skipped with its name.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from support.programs import HANGS_S

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.run_summary import load_verdict
from zonelab.studies.stories.lens import lens

pytestmark = pytest.mark.real

TRIES = 3
GUESTS = Path(__file__).parents[2] / "support" / "guests"

_AT = "at 100ms for 6s at-command 5 at '{}'"
_LONG_AT = _AT.replace("6s", "9s")
"""Time in which what stands still does so for all of its pause, which ends with the fault."""
AT_TAKE = f"program_kill worker {_AT.format('EVAL *ZRANGEBYSCORE* 2 due')} nonempty true when applied"
AT_WORK = f"program_kill worker {_AT.format('EVAL *worked* 2 due')}"
STOPPED = "how SIGSTOP pause-s"
STOPPED_AT_WORK = f"program_kill worker {_LONG_AT.format('EVAL *worked* 2 due')} {STOPPED} 0.6"
ZONE = "kill b restart warm at 100ms for 1s"


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A planted bug: the ``fault`` under which it shows, the class of its cases, and the commands between which the
    worker is when it is hit, as the story has them.
    """

    fault: str | None
    found: str
    told: tuple[str, ...] = ()
    forbid: str = ""
    workers: int = 2


BUGS = {
    "lost": Bug(
        fault=f"program_kill worker {_AT.format('LPOP waiting')} nonempty true when applied",
        found="lost",
        told=("has applied this command, without its answer: LPOP waiting", "it sends, as before: LRANGE active 0 -1"),
    ),
    "double": Bug(
        fault=STOPPED_AT_WORK,
        found="concurrent",
        told=(
            "EVAL local id = redis.call('ZRANGEBYSCORE'",
            "is stopped before this command, which no zone gets: EVAL return",
        ),
    ),
    "early": Bug(fault=None, found="early", told=("ZADD due",)),
    "resurrected": Bug(
        fault=f"program_kill worker {_LONG_AT.format('INCR worked')} {STOPPED} 1.5",
        found="resurrected",
        told=(
            "LRANGE active 0 -1",
            "is stopped before this command, which no zone gets: INCR worked",
            "LREM active 1 JOB",
            "RPUSH waiting JOB",
        ),
    ),
    "early-ack": Bug(
        fault=f"program_kill worker {_AT.format('INCR worked')}",
        found="abandoned",
        told=("LREM active 1 JOB", "is killed before this command, which no zone gets: INCR worked"),
    ),
    "forgotten": Bug(
        fault=f"program_kill worker {_AT.format('ZREM due')} when applied",
        found="lost",
        told=("has applied this command, without its answer: ZREM due JOB", "it sends, as before: RPUSH waiting job-"),
        workers=1,
    ),
    "lock": Bug(
        fault=f"program_kill worker {_AT.format('LRANGE active')} nonempty true when applied",
        found="stuck",
        told=("SET reclaiming 1 NX", "has applied this command, without its answer: LRANGE active 0 -1"),
        workers=1,
    ),
    "poison": Bug(
        fault=None, found="redelivered", told=("LREM active 1 JOB", "RPUSH waiting JOB"), forbid="redelivered"
    ),
}
"""By name. JOB stands for the message of the story."""


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


def tried(
    folder: Path, guest: str, fault: str | None, *more: str, bug: str = ""
) -> tuple[int, dict[str, int], dict[str, Any]]:
    """Return exit code, the classes that are not empty with their counts, and all that it printed.

    A run is made again if the worker did not come to the command in time, as on a busy machine.
    """
    words = ["try", "--json", "--quiet", "2s", "--worker-zone", "a", "--workers", "2", "--drain", "120s", *more]
    words += ["--producer", f"{guest} push {{url}} {bug} 60", "--worker", f"{guest} work {{url}} {bug}"]
    words += ["--fault", fault] if fault else []
    for _ in range(TRIES):
        code, said = _said(folder, words)
        programs = json.loads((folder / said["run"] / "run.json").read_text())["programs"]
        if all(strike["hit"] for one in programs.values() for strike in one["strikes"]):
            counts = said["verdict"]["sections"]["queue"]["counts"]
            return code, {name: count for name, count in counts.items() if count}, said
    pytest.fail(f"the fault found its command in none of {TRIES} runs")


def _said(folder: Path, words: list[str]) -> tuple[int, dict[str, Any]]:
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
    return done.returncode, said


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
    assert "60 messages were sent to the queue, and 60 of them accepted" in said["sentences"][1]


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_and_its_story_says_where_the_worker_was(tmp_path: Path, name: str) -> None:
    bug = BUGS[name]
    guest = f"{sys.executable} {GUESTS / 'buggy_queue.py'}"
    more = ["--set", "programs.worker.record_commands=true", "--set", "programs.producer.record_commands=true"]
    more += ["--workers", str(bug.workers)]
    more += ["--set", f"checks.forbid=[{bug.forbid}]", "--drain", "5s"] if bug.forbid else []
    code, found, said = tried(tmp_path, guest, bug.fault, *more, bug=name)
    assert code == 1, said["verdict"]
    assert bug.found in found
    run = RunDirectory.open(tmp_path / said["run"])
    job = load_verdict(run).cases[bug.found][0].message_id
    told = "\n".join(line.what for line in lens(run, job).lines)
    places = [told.find(words.replace("JOB", job)) for words in bug.told]
    assert -1 not in places, told
    assert places == sorted(places), told


@pytest.mark.parametrize("guest", [node, go])
def test_a_planted_bug_is_found_in_other_languages(tmp_path: Path, guest: Any) -> None:
    code, found, _ = tried(tmp_path, guest(), AT_TAKE, bug="lost")
    assert (code, found["lost"]) == (1, 1)
