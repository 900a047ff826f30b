"""Goal: the command line is found out by trying: help by any usual way, verbs by purpose, typos answered.

Method: run command lines in this process.
"""

import os
import subprocess

import pytest
from support.scenarios.short_runs import zonelab_command

from zonelab.scenarios.cli.main import run_cli


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_lists_the_verbs_by_what_one_wants_to_do(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert run_cli(words) == 0
    sections = capsys.readouterr().out.split("\n\n")
    verbs = {
        section.partition(":")[0]: [line.split()[0] for line in section.splitlines()[1:] if line[2:3] != " "]
        for section in sections[3:]
    }
    assert verbs["One run"] == ["demo", "scenarios", "engines", "run", "replay"]
    assert verbs["A cluster by hand"] == ["up", "status", "monitor", "heal", "down", "image", "fault"]
    assert verbs["A queue for other programs"] == ["gmq"]
    assert {"Many runs", "Decide", "Look"} < verbs.keys()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hnut"], "No such command 'hnut'. Did you mean 'hunt'?; accepted: demo, "),
        (
            ["hunt", "steady", "--rnus", "3"],
            "No such option: --rnus (Possible options: --runs); accepted: --runs, ",
        ),
        (["fault", "cutt"], "No such command 'cutt'. Did you mean 'cut'?; accepted: cut, hold, "),
        (
            ["matrix", "--faults", "zone-killed"],
            "--faults: got zone-killed (did you mean zone-killed-warm?); accepted: none, ",
        ),
        (
            ["run", "steady", "--on", "proces"],
            "Invalid value for '--on': 'proces' (did you mean process?) is not one of ",
        ),
        (
            ["run", "steady", "--level", "dc_quorum"],
            "Invalid value for '--level': 'dc_quorum' (did you mean DC_QUORUM?) ",
        ),
        (
            ["run", "steady", "--set", "load.rte_per_s=3"],
            "--set: load.rte_per_s: unknown field (did you mean rate_per_s?), ",
        ),
        (
            ["run", "steady", "--set", "persistence=rbd"],
            "--set: persistence: got 'rbd' (did you mean rdb?); accepted: ",
        ),
        (["ablate", "--off", "lease-n"], "--off: got 'lease-n' (did you mean lease-nx?); accepted: "),
        (["run", "zone-crsh"], "zone-crsh: no such scenario (did you mean zone-crash?); accepted: "),
    ],
)
def test_a_typo_is_answered_with_the_nearest_name(words: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    assert run_cli(words) == 64
    assert capsys.readouterr().err.startswith(f"zonelab: {told}")


@pytest.mark.parametrize(
    ("words", "completed"), [("h", ["hunt", "heal"]), ("run zone-c", ["zone-crash"]), ("run steady --on d", ["docker"])]
)
def test_the_shell_completes_verbs_scenarios_and_choices(words: str, completed: list[str]):
    line = f"zonelab {words}"
    asked = {"_ZONELAB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run(zonelab_command(), env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == completed
