"""Goal: a program that misbehaves is one line that names it, its run is never valid, and no process is left.

Method: a guest whose run is valid but for one habit, on one process zone; and the death of the lab itself.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.programs import HANGS_S, until
from support.scenarios.short_runs import Ran, ran

from zonelab.scenarios.programs.guardian import VARIABLE
from zonelab.scenarios.spec.reading import load_scenario

pytestmark = pytest.mark.real

GUEST = Path(__file__).parents[2] / "support" / "guests" / "misbehaving.py"
NAME = "worker-a-0"
FILE = f"programs/{NAME}.events.jsonl"

DOUBTED = {
    "ignores SIGTERM": f"program {NAME} did not end within 0.5 s of SIGTERM and was killed",
    "leaves its group": f"program {NAME}: a process that it had started (pid PID) outlived it and was killed",
    "long line": f"program {NAME}: line 13 of its output has 10,000,024 bytes; accepted: at most 1,000,000",
    "bad event": (
        f'program {NAME}: line 13 of its output: op: got "pushed"; '
        "accepted: push, accepted, refused, begin, ending, end, failed, effect"
    ),
    "bad event in a file": (
        f"program {NAME}: line 1 of programs/{NAME}.own.jsonl: id: got 4; accepted: text of 1 to 1,000 characters",
        f"program {NAME}: line 2 of programs/{NAME}.own.jsonl: has no t_ns, which events in a file need",
    ),
    "id twice": f"in {FILE}: line 13 (program {NAME}): 1 is pushed again: an id is one message",
    "end without begin": f"in {FILE}: line 7 (program {NAME}): 2 ends here, and its begin is not in the log",
    "hides a second run": (
        f"in {FILE}: line 10 (program {NAME}): 2 has more effects than attempts: a run that no worker reported"
    ),
    "outlives its kill": f"program {NAME}: a process that it had started (pid PID) outlived it and was killed",
    "clock ahead": f"program {NAME}: line 1 of its output has a time 60 s ahead of the clock of the lab",
}

FAILED = {
    "exits at once": (
        f"program {NAME} ended by itself: exit code 3, last line of its output: no such queue; "
        "no process of worker is left"
    ),
    "becomes a daemon": f"program {NAME} ended by itself: exit code 0; no process of worker is left",
    "ends early": f"program {NAME} ended by itself: exit code 1; no process of worker is left",
}


def scenario_file(folder: Path, habit: str, command: list[str] | None = None) -> Path:
    words = command or [sys.executable, str(GUEST), habit, "{events}"]
    given: dict[str, Any] = {
        "name": "bad",
        "topology": {"zones": ["a"]},
        "load": {"duration_s": 2},
        "programs": {"worker": {"command": words, "stop": {"grace_s": 0.5 if "SIGTERM" in habit else 5}}},
        "drain": {"bound_s": 60, "quiet_s": 0.5},
    }
    if habit == "outlives its kill":
        kill = {"kind": "program_kill", "program": "worker", "at_s": 1.5, "for_s": 0.2, "restart": False}
        given["faults"] = [kill]
    file = folder / "bad.yaml"
    file.write_text(yaml.safe_dump(given))
    return file


def ran_with(folder: Path, habit: str, command: list[str] | None = None) -> Ran:
    return ran(load_scenario(str(scenario_file(folder, habit, command))), folder / "runs")


def left(folder: Path) -> list[int]:
    """Processes that bear a mark and were started in ``folder``."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            environ = Path(f"/proc/{entry}/environ").read_bytes()
            if VARIABLE.encode() in environ and os.readlink(f"/proc/{entry}/cwd") == str(folder):
                found.append(int(entry))
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("habit", ["none", "writes to a file"])
def test_without_a_bad_habit_the_run_is_valid(tmp_path: Path, habit: str) -> None:
    run = ran_with(tmp_path, habit)
    assert run.record.doubts == []
    assert run.check().valid is True
    assert run.check().totals.acked == 3


@pytest.mark.parametrize("habit", DOUBTED)
def test_a_bad_habit_makes_the_verdict_unknown(tmp_path: Path, habit: str) -> None:
    run = ran_with(tmp_path, habit)
    assert (run.record.status, run.record.error) == ("complete", None)
    expected = DOUBTED[habit]
    said = [_without_pid(one) for one in run.check().doubts]
    wanted = [expected] if isinstance(expected, str) else list(expected)
    assert said[: len(wanted)] == wanted
    assert run.check().valid == "unknown"
    assert left(tmp_path) == []


def test_a_program_that_floods_its_log_is_judged_by_all_of_its_events(tmp_path: Path) -> None:
    run = ran_with(tmp_path, "floods the log")
    verdict = run.check()
    assert (run.record.status, verdict.doubts, verdict.valid) == ("complete", (), True)
    assert verdict.totals.acked == 4, "the last job came behind 60 MB of other output"
    log = (run.directory / "programs" / f"{NAME}.log").read_bytes()
    assert 10_000_000 < len(log) < 10_000_100
    assert b"\n\xe2\x80\xa6 50,000,000 bytes left out \xe2\x80\xa6\n" in log
    assert run.json("run.json")["programs"][NAME]["log_left_out"] == 50_000_000


def _without_pid(text: str) -> str:
    before, pid, after = text.partition("(pid ")
    return f"{before}(pid PID){after.partition(')')[2]}" if pid else text


def test_an_end_before_its_effect_counts_as_none(tmp_path: Path) -> None:
    verdict = ran_with(tmp_path, "end before its effect").check()
    assert verdict.valid is False
    assert verdict.counts["abandoned"] == 1


@pytest.mark.parametrize("habit", FAILED)
def test_a_program_that_ends_fails_the_run(tmp_path: Path, habit: str) -> None:
    run = ran_with(tmp_path, habit)
    assert (run.record.status, run.record.error) == ("failed", FAILED[habit])
    assert left(tmp_path) == []


@pytest.mark.parametrize("command", ["./nowhere", str(Path(__file__).parent)])
def test_a_command_that_is_not_there_fails_the_run(tmp_path: Path, command: str) -> None:
    run = ran_with(tmp_path, "", [command])
    words = f"program worker: command {command!r} is not there, or cannot be executed"
    assert (run.record.status, run.record.error) == ("failed", words)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_lab_ends_its_programs_do(tmp_path: Path, how: signal.Signals) -> None:
    file = scenario_file(tmp_path, "leaves its group")
    file.write_text(file.read_text().replace("duration_s: 2", "duration_s: 600"))
    lab = subprocess.Popen(
        [sys.executable, "-m", "zonelab", "run", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until(lambda: len(left(tmp_path)) >= 2)
    lab.send_signal(how)
    lab.wait(timeout=HANGS_S)
    until(lambda: not left(tmp_path))
