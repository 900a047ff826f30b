"""Goal: Ctrl-C ends every verb with 2 and without a traceback, from the first import to the last moment.

Method: the command line as a process whose Python sends itself SIGINT at one import, or after its verb has ended.
"""

import os
import subprocess
from pathlib import Path

import pytest
from support.programs import HANGS_S
from support.scenarios.short_runs import zonelab_command

_HOOK = """
import atexit, os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)
            interrupt = Freed if "WHERE_NOTHING_RAISES" in os.environ else interrupt
            atexit.register(interrupt) if "INTERRUPT_LATER" in os.environ else interrupt()
class Freed:
    def __del__(self, kill=os.kill, me=os.getpid(), interrupt=signal.SIGINT):
        kill(me, interrupt)
if os.environ["INTERRUPT_AT"] == "the end":
    sys.freed_last = Freed()
if ("--multiprocessing-fork" in sys.orig_argv) == ("IN_WORKERS" in os.environ):
    sys.meta_path.insert(0, Interrupting())
"""


def interrupted(directory: Path, *words: str, at: str, **changes: str) -> tuple[int, str]:
    """The exit code, and what was written to stderr."""
    (directory / "sitecustomize.py").write_text(_HOOK)
    done = subprocess.run(
        zonelab_command(*words),
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": str(directory),
            "ZONELAB_STATE": str(directory),
            "INTERRUPT_AT": at,
            **changes,
        },
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("at", ["typer", "cluster.zone", "pydantic", "scenarios.cli.session"])
def test_during_the_imports_of_the_command_line(at: str, tmp_path: Path):
    assert interrupted(tmp_path, "scenarios", at=at) == (2, "zonelab: interrupted\n")


def test_where_python_lets_nothing_raise(tmp_path: Path):
    assert interrupted(tmp_path, "scenarios", at="typer", WHERE_NOTHING_RAISES="yes") == (2, "zonelab: interrupted\n")


@pytest.mark.parametrize("words", [["scenarios"], ["fault", "--help"]])
def test_after_the_last_line_of_a_verb(words: list[str], tmp_path: Path):
    assert interrupted(tmp_path, *words, at="typer", INTERRUPT_LATER="yes") == (2, "")


def test_while_python_frees_its_modules(tmp_path: Path):
    assert interrupted(tmp_path, "fault", "--help", at="the end") == (0, "")


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("run steady --on sim", "lupa"),
        ("hunt steady --runs 2 --messages 5", "numpy"),
        ("demo --on sim", "simpy"),
        ("matrix --runs 1", "pyarrow"),
        ("up", "scenarios.session.launch"),
        ("analyze .", "pandas"),
        ("compare . .", "scipy"),
    ],
)
def test_during_the_imports_of_a_verb(words: str, at: str, tmp_path: Path):
    code, said = interrupted(tmp_path, *words.split(), at=at)
    assert code == 2
    assert said.endswith("zonelab: interrupted\n")
    assert "Traceback" not in said


def test_workers_leave_ctrl_c_to_the_verb_from_their_first_import_on(tmp_path: Path):
    words = ("hunt", "steady", "--runs", "5", "--messages", "5", "--jobs", "2")
    code, said = interrupted(tmp_path, *words, at="scenarios.hunt.seeds", IN_WORKERS="yes")
    assert "Traceback" not in said
    assert code == 0
