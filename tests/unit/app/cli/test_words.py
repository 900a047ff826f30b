"""Goal: the command line is found out by trying: help by any usual way, verbs by purpose, typos answered.

Method: run command lines in this process.
"""

import os
import subprocess
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest
import typer
from support.scenarios.short_runs import zonelab_command

from zonelab.app.cli.app import app
from zonelab.app.cli.main import run_cli


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_lists_the_verbs_by_what_one_wants_to_do(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert run_cli(words) == 0
    sections = capsys.readouterr().out.split("\n\n")
    verbs = {
        section.partition(":")[0]: [line.split()[0] for line in section.splitlines()[1:] if line[2:3] != " "]
        for section in sections[3:]
    }
    assert verbs["One run"] == ["demo", "scenarios", "engines", "run", "try", "replay", "share"]
    assert verbs["A cluster by hand"] == ["up", "status", "monitor", "heal", "down", "image", "fault"]
    assert verbs["A queue for other programs"] == ["gmq"]
    assert {"Many runs", "Decide", "Look"} < verbs.keys()


@pytest.mark.parametrize("words", [[], ["fault"], ["gmq"], ["known"]])
def test_help_has_the_first_sentence_of_every_verb_whole(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")
    assert run_cli([*words, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines[1:] if line.endswith("...")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["hnut"], "No such command 'hnut'. Did you mean 'hunt'?; accepted: demo, "),
        (
            ["hunt", "steady", "--rnus", "3"],
            "No such option: --rnus (Possible options: --runs); accepted: --runs, ",
        ),
        (["fault", "cutt"], "No such command 'cutt'. Did you mean 'cut'?; accepted: lag, loss, "),
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


DEFAULTS = """\
ablate: --runs=100 [1 to 1e+07], --seed-from=1 [0 to 9.22337e+18], --engine=dyno, --jobs=1 [1 to 1024], --dir=runs
analyze: --master=local[*]
compare: --within=0.15 [0.001 to 10]
demo: --on=process, --seed=None [0 to 9.22337e+18], --dir=runs
engines: --seed=None [0 to 9.22337e+18], --jobs=1 [1 to 1024], --dir=runs
evaluate: --seed-from=1 [0 to 9.22337e+18], --zones=None [1 to 7], --rate=None [0 to ], --runs=None [1 to 1e+07],
    --limit=0 [0 to ], --confirm-runs=None [2 to ], --jobs=1 [1 to 1024], --dir=runs
hunt: --runs=1000 [1 to 1e+07], --seed-from=1 [0 to 9.22337e+18], --messages=100 [1 to 1e+07], --jobs=1 [1 to 1024],
    --dir=runs
index: runs=runs
judge: --format=events, --dir=runs
limit: --runs=3 [1 to 1e+07], --seed-from=1 [0 to 9.22337e+18], --jobs=1 [1 to 1024], --dir=runs
matrix: --runs=30 [1 to 1e+07], --seed-from=1 [0 to 9.22337e+18], --shrink-runs=60 [1 to 1e+07], --engine=dyno,
    --jobs=1 [1 to 1024], --dir=runs
measure-lag: --for=60s, --every=10ms, --with=PING, --out=lags
measure-service: --on=process, --runs=6 [2 to ], --dir=runs
monitor: --engine=dyno, --mode=default, --monitor-port=0 [0 to 65535]
pbs: --n=3, --probability=0.999, --trials=1000000, --seed=1 [0 to 9.22337e+18]
plot: --width=10.5 [3 to 20]
replay: --on=sim, --dir=runs
run: --seed=None [0 to 9.22337e+18], --live-wait=0.0 [0 to 60], --monitor-port=0 [0 to 65535], --dir=runs
shrink: --runs-max=1000 [1 to 1e+07]
sweep: --runs=100 [1 to 1e+07], --seed-from=1 [0 to 9.22337e+18], --messages=100 [1 to 1e+07], --jobs=1 [1 to 1024],
    --dir=runs
try: --level=DC_QUORUM, --zones=3, --lag=0, --worker-zone=all, --workers=1 [1 to ], --load=60s, --quiet=3s, --drain=30s,
    --on=process, --seed=None [0 to 9.22337e+18], --dir=runs
up: --zones=None [1 to 7], --dcs=None [1 to ], --nodes=None [1 to ], --level=DC_QUORUM, --on=process, --port=7401 [0
    to ], --monitor-port=0 [0 to 65535], --time-factor=1.0, --busy-poll-us=200 [0 to ], --persistence=aof-everysec,
    --seed=0 [0 to 9.22337e+18], --votes=value, --dir=runs
verify: --dir=runs
"""
"""Defaults of the options of each verb, and bounds of those that are numbers."""


def told_defaults() -> Iterator[tuple[str, str]]:
    group: Any = typer.main.get_command(app)
    for name, command in sorted(group.commands.items()):
        for one in command.params:
            bounds = "" if one.min is None else f" [{one.min:g} to {'' if one.max is None else format(one.max, 'g')}]"
            if bounds or one.default not in (None, False):
                yield name, f"{one.opts[-1]}={one.default}{bounds}"


def test_every_verb_does_by_default_what_is_stated_here_and_numbers_have_bounds():
    told = {verb: ", ".join(option for _, option in of) for verb, of in groupby(told_defaults(), key=itemgetter(0))}
    stated = " ".join(DEFAULTS.split())
    assert " ".join(f"{verb}: {options}" for verb, options in told.items()) == stated
