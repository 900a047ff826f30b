"""Goal: a sound queue in any language is valid under what it promises to stand; bugs planted in another are found.

Method: runs of two queues of 69 to 124 lines in Python, Node and Go, whose worker is killed or stopped at a command,
and one of whose zones dies.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from support.programs import HANGS_S
from support.scenarios.short_runs import Ran, ran

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.scenarios.spec.fault_words import faults_in_words
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.studies.stories.lens import lens

pytestmark = pytest.mark.real

TRIES = 3
JOBS = 60
GUESTS = Path(__file__).parents[2] / "support" / "guests"

_AT = "at 100ms for 6s at-command 5 at '{}'"
STOPPED_NS = 1.5e9


def _stopped(command: str, *, pause_s: int = 2) -> str:
    """Return a fault that ends long after the pause, as what stands still goes on when it ends."""
    return f"program_kill worker {_AT.format(command).replace('6s', f'{pause_s + 7}s')} how SIGSTOP pause-s {pause_s}"


AT_TAKE = f"program_kill worker {_AT.format('EVAL *ZRANGEBYSCORE* 2 due')} nonempty true when applied"
AT_WORK = f"program_kill worker {_AT.format('EVAL *worked* 2 due')}"
STOPPED_AT_WORK = _stopped("EVAL *worked* 2 due")
ZONE = "kill b restart warm at 100ms for 1s"


class Bug(NamedTuple):
    """A planted bug: the ``fault`` under which it shows, the class of its cases, and the commands between which the
    worker is when it is hit, as the story has them.
    """

    fault: str | None
    found: str
    told: tuple[str, ...]
    workers: int = 2


BUGS = {
    "lost": Bug(
        fault=f"program_kill worker {_AT.format('LPOP waiting')} nonempty true when applied",
        found="lost",
        told=("has applied this command, without its answer: LPOP waiting", "it sends, as before: LINDEX active 0"),
    ),
    "double": Bug(
        fault=_stopped("INCR worked", pause_s=8),
        found="concurrent",
        told=(
            "LMOVE waiting active",
            "is stopped before this command, which no zone gets: INCR worked",
            "LREM active 1 JOB",
            "RPUSH waiting JOB",
        ),
    ),
    "early": Bug(fault=None, found="early", told=("ZADD due",)),
    "resurrected": Bug(
        fault=_stopped("INCR worked"),
        found="resurrected",
        told=(
            "LINDEX active 0",
            "is stopped before this command, which no zone gets: INCR worked",
            "LREM active 1 JOB",
            "RPUSH waiting JOB",
        ),
        workers=1,
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
        fault=f"program_kill worker {_AT.format('LINDEX active')} nonempty true when applied",
        found="stuck",
        told=("SET reclaiming 1 NX", "has applied this command, without its answer: LINDEX active 0"),
        workers=1,
    ),
    "poison": Bug(fault=None, found="redelivered", told=("LREM active 1 JOB", "RPUSH waiting JOB")),
}
"""By name. JOB stands for the message of the story."""


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """Return a function of language and name that returns the command of a program of the folder of guests."""

    @cache
    def built(name: str) -> str:
        program = tmp_path_factory.mktemp("guests") / name
        files = [str(GUESTS / f"{each}.go") for each in dict.fromkeys(("sound_queue", name))]
        subprocess.run(["go", "build", "-o", str(program), *files], check=True, timeout=HANGS_S, cwd="/")
        return str(program)

    def command(language: str, name: str) -> str:
        if language == "go":
            return built(name)
        return f"{sys.executable} {GUESTS / name}.py" if language == "python" else f"node {GUESTS / name}.js"

    return command


def tried(folder: Path, command: str, fault: str | None, *overrides: str, bug: str = "") -> Ran:
    """Return a run of a queue in zone a.

    It is made again if the worker did not come to the command in time, or did not stand still for long enough, as on a
    busy machine.
    """
    common = {"zone": "a", "record_commands": True}
    document = {
        "name": "contract",
        "level": "DC_QUORUM",
        "load": {"duration_s": 60},
        "programs": {
            "producer": {"command": f"{command} push {{url}} {bug} {JOBS}", "ends": True, **common},
            "worker": {"command": f"{command} work {{url}} {bug}", "count": 2, "ready": "^ready", **common},
        },
        "faults": faults_in_words([fault] if fault else []),
        "drain": {"bound_s": 120, "quiet_s": 2},
    }
    scenario = scenario_of(document, source="contract", overrides=overrides)
    for _ in range(TRIES):
        run = ran(scenario, folder)
        assert (run.record.status, run.record.error) == ("complete", None)
        strikes = [strike for one in run.record.programs.values() for strike in one["strikes"]]
        if all(strike["hit"] and strike.get("stopped_ns", STOPPED_NS) >= STOPPED_NS for strike in strikes):
            return run
    pytest.fail(f"the fault found its command in none of {TRIES} runs")


LANGUAGES = ["python", pytest.param("node", marks=pytest.mark.node), pytest.param("go", marks=pytest.mark.go)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("fault", [AT_TAKE, AT_WORK, STOPPED_AT_WORK, ZONE])
def test_a_sound_queue_is_valid(tmp_path: Path, guest: Callable[[str, str], str], language: str, fault: str) -> None:
    verdict = tried(tmp_path, guest(language, "sound_queue"), fault, "drain.quiet_s=5").check()
    assert (verdict.valid, verdict.reasons) == (True, ())
    assert {name for name, count in verdict.counts.items() if count} <= {
        "redelivered",
        "zombie_ack",
        "overlap",
        "orphan",
    }
    assert verdict.totals.pushed == verdict.totals.acknowledged == JOBS


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_and_its_story_says_where_the_worker_was(
    tmp_path: Path, guest: Callable[[str, str], str], language: str, name: str
) -> None:
    bug = BUGS[name]
    forbidden = ["checks.forbid=[redelivered]", "drain.bound_s=8"] if bug.found == "redelivered" else []
    command = guest(language, "buggy_queue")
    run = tried(tmp_path, command, bug.fault, f"programs.worker.count={bug.workers}", *forbidden, bug=name)
    verdict = run.check()
    assert verdict.valid is False
    assert verdict.counts[bug.found]
    directory, jobs = RunDirectory.open(run.directory), [case.message_id for case in verdict.cases[bug.found]]
    stories = {job: "\n".join(line.what for line in lens(directory, job).lines) for job in jobs}
    assert any(_says(story, bug.told, job) for job, story in stories.items()), stories


def _says(story: str, told: tuple[str, ...], job: str) -> bool:
    """Return whether ``story`` has all that is to be told, in that order."""
    return re.search(".*".join(re.escape(words.replace("JOB", job)) for words in told), story, re.DOTALL) is not None
