"""Goal: Ctrl-C ends every verb with 2 and without a traceback, from the first import to the last moment.

Method: the command line as a process whose Python sends itself SIGINT at one import, or after its verb has ended.
"""

from pathlib import Path

import pytest
from support.app.interrupting import interrupted


@pytest.mark.parametrize("at", ["typer", "zonelab.cluster.zone", "pydantic", "zonelab.app.cli.session"])
def test_during_the_imports_of_the_command_line(at: str, tmp_path: Path):
    assert interrupted(tmp_path, "scenarios", at=at) == (2, "zonelab: interrupted\n")


def test_where_python_lets_nothing_raise(tmp_path: Path):
    assert interrupted(tmp_path, "scenarios", at="run_app", WHERE_NOTHING_RAISES="yes") == (2, "zonelab: interrupted\n")


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("at", ["typer", "the verb"])
def test_what_asks_the_program_to_end_does_what_ctrl_c_does(at: str, signal: str, tmp_path: Path):
    assert interrupted(tmp_path, "scenarios", at=at, INTERRUPT_BY=signal) == (2, "zonelab: interrupted\n")


ON_A_LOOP = """
import asyncio, os, signal, sys
async def other():
    try:
        await asyncio.sleep(600)
    finally:
        print("the other task", file=sys.stderr)
async def main():
    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.{})
    try:
        await asyncio.sleep(600)
    finally:
        print("the main task, before" if not task.cancelling() else "too late", file=sys.stderr)
asyncio.run(main())
"""


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_on_an_event_loop_the_main_task_tidies_before_others_are_cancelled(signal: str, tmp_path: Path):
    (tmp_path / "endless.py").write_text(ON_A_LOOP.format(signal))
    code, said = interrupted(tmp_path, "hunt", "steady", "--queue", "endless:queue", at="never")
    assert (code, said) == (2, "the main task, before\nthe other task\nzonelab: interrupted\n")


@pytest.mark.parametrize("at", ["typer", "the verb"])
def test_an_import_that_swallows_what_it_raises(at: str, tmp_path: Path):
    assert interrupted(tmp_path, "scenarios", at=at, SWALLOWED="yes") == (2, "zonelab: interrupted\n")


def test_the_second_one_ends_an_import_that_never_ends(tmp_path: Path):
    endless = "import os, signal, time\n" + 2 * "os.kill(os.getpid(), signal.SIGINT)\n" + "time.sleep(600)\n"
    (tmp_path / "endless.py").write_text(endless)
    code, said = interrupted(tmp_path, "hunt", "steady", "--queue", "endless:queue", at="never")
    assert code == 2
    assert said.endswith("zonelab: interrupted\n")


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
        ("up", "zonelab.app.session.launch"),
        ("analyze .", "pyspark"),
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
    code, said = interrupted(tmp_path, *words, at="zonelab.studies.hunt.seeds", IN_WORKERS="yes")
    assert "Traceback" not in said
    assert code == 0
